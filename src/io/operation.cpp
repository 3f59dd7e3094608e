#include "io/operation.hpp"

#include <string_view>

#include "sched/carrier.hpp"

namespace weft::detail {

void throw_io_error(std::error_code error, const char* what) {
    const bool is_interrupt = error == std::errc::operation_canceled || error == std::errc::timed_out;
    if (is_interrupt && pending_interrupt()) {
        constexpr std::string_view from_here = "weft: ";
        std::string_view operation = what;
        if (operation.starts_with(from_here)) operation.remove_prefix(from_here.size());
        throw cancelled_operation(operation);
    }
    throw std::system_error(error, what);  // also if the peer has timed out
}

void let_others_run() noexcept {
    if (auto* const self = this_fiber_block()) carrier::yield(*self);
}

std::error_code wait_until_ready(io_source& s, io_direction way, io_source::event_count seen, const wait_kind& kind) noexcept {
    if (const long refused = s.attach()) return failure(refused);
    if (s.wait(way, seen, kind) == readiness::interrupted) return interrupt_error(interrupt_reason());
    return s.closing() ? closed_error() : std::error_code();
}

}  // namespace weft::detail
