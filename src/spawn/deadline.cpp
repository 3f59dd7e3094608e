// deadline.cpp - the error of a deadline that has passed, and its text.
#include <weft/deadline.hpp>

#include <string>

#include "base/duration_text.hpp"

namespace weft::detail {

namespace {

/// Compares equal to std::errc::timed_out. The standard category's text is "Connection timed out",
/// which makes readers look for a network.
class timeouts final : public std::error_category {
    const char* name() const noexcept override { return "weft.timeout"; }
    std::string message(int) const override { return "timed out"; }
    std::error_condition default_error_condition(int) const noexcept override { return std::errc::timed_out; }
};

}  // namespace

std::error_code timeout_code() noexcept {
    static const timeouts category;
    return {static_cast<int>(std::errc::timed_out), category};
}

bool has_expired(const deadline_frame& frame) noexcept {
    const bool outer_expired = frame.outer && clock::now() >= frame.outer->effective;
    return !stop_is_pending() && !outer_expired && clock::now() >= frame.own;
}

void throw_timeout(std::chrono::nanoseconds limit, const cancelled_operation& interrupted) {
    std::string text = "weft: deadline ";
    if (limit.count() >= 0) text += "of " + duration_text(limit) + ' ';
    text += "exceeded";
    if (const auto name = interrupted.name(); !name.empty()) text.append(" (").append(name) += ')';
    throw timeout_error(text);
}

}  // namespace weft::detail
