#include "base/panic.hpp"

#include <cstdio>
#include <cstdlib>

namespace weft::detail {
namespace {

std::string_view nobody() noexcept { return "a plain thread"; }

// Written once at start-up, before any fiber exists.
std::string_view (*namer)() noexcept = nobody;

}  // namespace

void set_panic_namer(std::string_view (*n)() noexcept) noexcept { namer = n; }

void panic(std::string_view rule, std::string_view detail) noexcept {
    const auto who = namer();
    std::fprintf(stderr, "weft: fatal: %.*s", static_cast<int>(rule.size()), rule.data());
    if (!detail.empty()) std::fprintf(stderr, " (%.*s)", static_cast<int>(detail.size()), detail.data());
    std::fprintf(stderr, " [in %.*s]\n", static_cast<int>(who.size()), who.data());
    std::fflush(stderr);
    std::abort();
}

}  // namespace weft::detail
