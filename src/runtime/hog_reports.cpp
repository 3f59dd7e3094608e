// hog_reports.cpp - how a user is told of hogs: by on_hog, or by a line on stderr; and whose the signal is that shows their stacks.
#include <signal.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>

#include "runtime/code_names.hpp"
#include "runtime/runtime_core.hpp"
#include "stack/running_stack.hpp"

namespace weft::detail {
namespace {

constexpr std::size_t shown_frames = 12;  // chosen: a line can still be read

int checked_hog_signal(const runtime_options& o) {
    if (const auto n = from_environment("WEFT_HOG_SIGNAL", 0, static_cast<unsigned long>(SIGRTMAX))) return static_cast<int>(*n);
    if (o.hog_signal < 0 || o.hog_signal > SIGRTMAX)
        throw std::invalid_argument("weft: runtime_options::hog_signal must be 0 (none) to " + std::to_string(SIGRTMAX) +
                                    ", not " + std::to_string(o.hog_signal));
    return o.hog_signal;
}

// Those that say what the thread itself has done; and those in between are the C library's.
bool is_taken_by_the_system(int number) noexcept {
    for (const int n : {SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS})
        if (number == n) return true;
    return number >= __SIGRTMIN && number < SIGRTMIN;
}

std::string line_of(const hog_report& r) {
    const auto text = [](std::string_view s) { return std::string(s); };
    const auto ms = [](std::chrono::nanoseconds d) { return std::to_string(d / std::chrono::milliseconds(1)) + " ms"; };
    std::string line = "weft: fiber " + std::to_string(r.fiber.id.value);
    if (!r.fiber.name.empty()) line += " \"" + text(r.fiber.name) + '"';
    if (r.fiber.site.line() != 0) line += " (" + text(r.fiber.site.file_name()) + ':' + std::to_string(r.fiber.site.line()) + ')';
    if (r.what == hog_report::doing::blocks) {
        line += " has kept its thread for " + ms(r.held) + " and blocks it";
        if (!r.blocked_in.empty()) line += " in " + text(r.blocked_in);
    } else {
        line += " has kept its thread for " + ms(r.held) + " and computes";
    }
    for (std::size_t i = 0; i < r.stack.size() && i < shown_frames; ++i) line += (i == 0 ? " at " : " < ") + place_of(r.stack[i]);
    if (r.left_out != 0) line += "; " + std::to_string(r.left_out) + " more not reported";
    return line + '\n';
}

void print(std::string_view what) noexcept {
    std::fprintf(stderr, "weft: on_hog has thrown: %.*s\n", static_cast<int>(what.size()), what.data());
}

}  // namespace

stack_signal::stack_signal(const runtime_options& o) : number_(checked_hog_signal(o)) {
    if (number_ == 0) return;
    const std::string which =
        "weft: runtime_options::hog_signal: signal " + std::to_string(number_) + " (" + ::strsignal(number_) + ')';
    if (is_taken_by_the_system(number_)) throw std::invalid_argument(which + " has another use; take a real-time signal");
    switch (claim_stack_signal(number_)) {
        case signal_claim::granted: return;
        case signal_claim::ignored: throw std::invalid_argument(which + " is ignored, by somebody's wish");
        case signal_claim::refused: throw std::invalid_argument(which + " cannot have a handler");
        case signal_claim::has_handler: break;
    }
    struct sigaction other = {};
    ::sigaction(number_, nullptr, &other);
    const auto* const handler = (other.sa_flags & SA_SIGINFO) != 0 ? reinterpret_cast<const void*>(other.sa_sigaction)
                                                                   : reinterpret_cast<const void*>(other.sa_handler);
    throw std::invalid_argument(which + " has a handler already: " + place_of(handler));
}

stack_signal::~stack_signal() {
    if (number_ != 0) release_stack_signal(number_);
}

void report_hog(const runtime_options& o, const hog& h) noexcept {
    char name_now[sizeof h.fiber.rest().name_text];
    const hog_report report{.fiber = info_of(h.fiber, name_now),
                            .what = h.blocks ? hog_report::doing::blocks : hog_report::doing::computes,
                            .held = h.held,
                            .computed = h.computed,
                            .thread = h.thread,
                            .blocked_in = h.blocked_in,
                            .stack = h.stack,
                            .left_out = h.left_out};
    try {
        if (o.on_hog)
            o.on_hog(report);
        else
            std::fputs(line_of(report).c_str(), stderr);
    } catch (const std::exception& e) {
        print(e.what());
    } catch (...) {
        print("something that is not a std::exception");
    }
}

}  // namespace weft::detail
