#include "base/panic.hpp"

#include <cstdio>
#include <cstdlib>

namespace weft::detail {
namespace {

runner nobody() noexcept { return {"a plain thread"}; }

// Written once at start-up, before any fiber exists.
runner (*namer)() noexcept = nobody;

}  // namespace

void set_panic_namer(runner (*n)() noexcept) noexcept { namer = n; }

void panic(std::string_view rule, std::string_view detail) noexcept {
    const auto who = namer();
    std::fprintf(stderr, "weft: fatal: %.*s", static_cast<int>(rule.size()), rule.data());
    if (!detail.empty()) std::fprintf(stderr, " (%.*s)", static_cast<int>(detail.size()), detail.data());
    std::fprintf(stderr, " [in %s]\n", who.text);
    std::fflush(stderr);
    std::abort();
}

}  // namespace weft::detail
