// operation.hpp - the one loop of all I/O: try, and on would-block wait and try again.
#pragma once

#include <system_error>

#include <weft/deadline.hpp>
#include <weft/detail/export.hpp>

#include "io/source.hpp"
#include "io/system.hpp"
#include "sched/wait/wait.hpp"

namespace weft::detail {

struct io_result {
    std::size_t count = 0;
    std::error_code error;
};

inline std::error_code closed_error() noexcept { return std::make_error_code(std::errc::bad_file_descriptor); }

/// The error_code for an interrupt: the reason behind readiness::interrupted or
/// pending_interrupt().
inline std::error_code interrupt_error(std::errc reason) noexcept {
    return reason == std::errc::timed_out ? timeout_code() : std::make_error_code(reason);
}

/// Throws for a throwing form: `cancelled` if the error is an interrupt, else std::system_error.
[[noreturn]] WEFT_EXPORT void throw_io_error(std::error_code error, const char* what);

/// Returns the count, or throws if there is an error.
inline std::size_t value_or_throw(io_result r, const char* what) {
    if (r.error) throw_io_error(r.error, what);
    return r.count;
}

/// Returns the count, and stores the error, or none, in `error`.
inline std::size_t report(io_result r, std::error_code& error) noexcept {
    error = r.error;
    return r.count;
}

/// The right to use the descriptor (SOURCE-1).
class operation_guard {
public:
    explicit operation_guard(io_source* s) noexcept : source_(s && s->enter() ? s : nullptr) {}
    operation_guard(const operation_guard&) = delete;
    operation_guard& operator=(const operation_guard&) = delete;
    ~operation_guard() {
        if (source_) source_->leave();
    }
    explicit operator bool() const noexcept { return source_ != nullptr; }

private:
    io_source* source_;
};

/// Waits until a new attempt makes sense. It returns an error if a new attempt makes no sense.
///
/// \parks  unless there was an event after `seen`.
std::error_code wait_until_ready(io_source& s, io_direction way, io_source::event_count seen, const wait_kind& kind) noexcept;

/// Lets other fibers run, if there are any. It ignores stops and deadlines, since the operation has
/// succeeded.
WEFT_EXPORT void let_others_run() noexcept;

/// What one attempt says about the next one; see io_source::set_drained().
enum class after_attempt : bool { try_again, drained };

/// Runs `attempt(fd)`, which returns a system_result(), until it does not report would-block. After
/// a success it asks `left(result)` whether a read emptied the descriptor.
template <class Attempt, class Left>
io_result perform(io_source* s, io_direction way, const wait_kind& kind, Attempt&& attempt, Left&& left) noexcept {
    if (const auto interrupt = pending_interrupt()) return {0, interrupt_error(*interrupt)};
    const operation_guard guard(s);
    if (!guard) return {0, closed_error()};
    for (;;) {
        const auto seen = s->events(way);  // before the attempt (SOURCE-4)
        if (way == io_direction::write || !s->drained(seen)) {
            const long result = attempt(s->descriptor());
            if (result >= 0) {
                if (left(result) == after_attempt::drained) s->set_drained(seen);
                if (s->had_its_share()) let_others_run();
                return {static_cast<std::size_t>(result), {}};
            }
            if (result == -EINTR) continue;
            if (result != -EAGAIN) return {0, failure(result)};
        }
        if (const auto error = wait_until_ready(*s, way, seen, kind)) return {0, error};
    }
}

template <class Attempt>
io_result perform(io_source* s, io_direction way, const wait_kind& kind, Attempt&& attempt) noexcept {
    return perform(s, way, kind, attempt, [](long) { return after_attempt::try_again; });
}

/// Runs `attempt(fd)` once. If it would block, the error is operation_would_block.
template <class Attempt>
io_result perform_now(io_source* s, Attempt&& attempt) noexcept {
    const operation_guard guard(s);
    if (!guard) return {0, closed_error()};
    for (;;) {
        const long result = attempt(s->descriptor());
        if (result >= 0) return {static_cast<std::size_t>(result), {}};
        if (result == -EAGAIN) return {0, std::make_error_code(std::errc::operation_would_block)};
        if (result != -EINTR) return {0, failure(result)};
    }
}

}  // namespace weft::detail
