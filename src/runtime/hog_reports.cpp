// hog_reports.cpp - reports hogs, to on_hog or on stderr; owns the signal that shows their stacks.
#include <cstdio>
#include <stdexcept>
#include <string>

#include "base/in_quotes.hpp"
#include "fiber/hook.hpp"
#include "runtime/chosen_signal.hpp"
#include "runtime/dump/code_names.hpp"
#include "runtime/runtime_core.hpp"
#include "sched/monitor/hog_sighting.hpp"
#include "stack/running_stack.hpp"

namespace weft::detail {
namespace {

constexpr std::size_t shown_frames = 12;  // chosen: the line stays readable

std::string line_of(const hog_report& r) {
    const auto text = [](std::string_view s) { return std::string(s); };
    const auto ms = [](std::chrono::nanoseconds d) { return std::to_string(d / std::chrono::milliseconds(1)) + " ms"; };
    std::string line = "weft: fiber " + std::to_string(r.fiber.id.value);
    if (!r.fiber.name.empty()) line += ' ' + in_quotes(r.fiber.name);
    if (r.fiber.site.line() != 0) line += " (" + text(r.fiber.site.file_name()) + ':' + std::to_string(r.fiber.site.line()) + ')';
    switch (r.what) {
        case hog_report::doing::blocks:
            line += " has kept its thread for " + ms(r.held) + " and blocks it";
            if (!r.blocked_in.empty()) line += " in " + text(r.blocked_in);
            break;
        case hog_report::doing::computes: line += " has kept its thread for " + ms(r.held) + " and computes"; break;
        case hog_report::doing::ignores_stop:
            line += " was asked to stop " + ms(r.held) + " ago and has been thrown cancelled " + std::to_string(r.cancelled) +
                    " times: a catch (...) swallows it";
    }
    for (std::size_t i = 0; i < r.stack.size() && i < shown_frames; ++i) line += (i == 0 ? " at " : " < ") + place_of(r.stack[i]);
    if (r.left_out != 0) line += "; " + std::to_string(r.left_out) + " more not reported";
    return line + '\n';
}

void print(const hog_report& r) { std::fputs(line_of(r).c_str(), stderr); }

}  // namespace

stack_signal::stack_signal(const runtime_options& o) : number_(chosen_signal("WEFT_HOG_SIGNAL", "hog_signal", o.hog_signal)) {
    if (number_ == 0) return;
    switch (claim_stack_signal(number_)) {
        case signal_claim::granted: return;
        case signal_claim::ignored:
            throw std::invalid_argument(signal_in_words("hog_signal", number_) + " is ignored, by somebody's wish");
        case signal_claim::refused:
            throw std::invalid_argument(signal_in_words("hog_signal", number_) + " cannot have a handler");
        case signal_claim::has_handler: break;
    }
    refuse_signal_with_handler("hog_signal", number_);
}

stack_signal::~stack_signal() {
    if (number_ != 0) release_stack_signal(number_);
}

void report_hog(const runtime_options& o, const hog_sighting& h) noexcept {
    char name_now[sizeof h.fiber.cold().name_text];
    const hog_report report{.fiber = info_of(h.fiber, name_now),
                            .what = h.cancelled != 0 ? hog_report::doing::ignores_stop
                                    : h.blocks       ? hog_report::doing::blocks
                                                     : hog_report::doing::computes,
                            .held = h.held,
                            .computed = h.computed,
                            .thread = h.thread,
                            .blocked_in = h.blocked_in,
                            .stack = h.stack,
                            .left_out = h.left_out,
                            .cancelled = h.cancelled};
    call_hook("on_hog", [&] { o.on_hog ? o.on_hog(report) : print(report); });
}

}  // namespace weft::detail
