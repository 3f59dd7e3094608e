#include "fiber/hook.hpp"

#include <cstdio>
#include <exception>
#include <string_view>

#include <weft/stop.hpp>

#include "base/in_quotes.hpp"
#include "base/seldom.hpp"

namespace weft::detail {
namespace {

void print(const char* hook, std::string_view what) noexcept {
    std::fprintf(stderr, "weft: %s has thrown: ", hook);
    add_printable(what, [](std::string_view piece) { std::fwrite(piece.data(), 1, piece.size(), stderr); });
    std::fputc('\n', stderr);
}

}  // namespace

void report_hook_failure(const char* hook, seldom* lines) noexcept {
    try {
        throw;
    } catch (const cancelled&) {  // the fiber was stopped while the hook waited; it learns of it again
    } catch (const std::exception& e) {
        if (!lines || lines->pass(clock::now())) print(hook, e.what());
    } catch (...) {
        if (!lines || lines->pass(clock::now())) print(hook, "something that is not a std::exception");
    }
}

}  // namespace weft::detail
