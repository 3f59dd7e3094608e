// fiber_ref.hpp - the compiled half of a handle: one reference to a fiber's control block.
#pragma once

#include <cstdint>
#include <source_location>
#include <stop_token>
#include <string_view>
#include <utility>

#include <weft/detail/clock.hpp>
#include <weft/detail/task.hpp>

namespace weft {
struct attributes;
}

namespace weft::detail {

class scheduler;
struct control_block;

class fiber_ref {
public:
    fiber_ref() noexcept = default;
    explicit fiber_ref(control_block& f) noexcept : fiber_(&f) {}
    fiber_ref(fiber_ref&& other) noexcept : fiber_(std::exchange(other.fiber_, nullptr)) {}
    fiber_ref& operator=(fiber_ref&& other) noexcept {
        fiber_ref(std::move(other)).swap(*this);
        return *this;
    }
    ~fiber_ref() {
        if (fiber_) reset();
    }

    void swap(fiber_ref& other) noexcept { std::swap(fiber_, other.fiber_); }
    explicit operator bool() const noexcept { return fiber_ != nullptr; }

    /// Waits until the body has ended. \parks \throws cancelled
    void wait() const;
    /// The same up to `until`. \returns whether it has ended. \parks \throws cancelled
    bool wait_until(time_point until) const;
    /// The same, never interrupted: for destructors and the end of a scope.
    void wait_shielded() const noexcept;
    bool done() const noexcept;
    bool request_stop() const noexcept;
    std::stop_token stop_token() const;
    std::uint64_t id() const noexcept;
    /// Gives the fiber up: a failure of its body then goes to on_unhandled.
    void detach() noexcept;
    /// The failure of the ended body goes to on_unhandled; it was not detached.
    void report_unhandled() const noexcept;
    task& body() const noexcept;
    /// For select.
    control_block* block() const noexcept { return fiber_; }
    /// The result was taken by join(): a scope it is a child of need not rethrow its failure.
    void failure_was_taken() const noexcept;
    /// Gives the reference back; destroys the result if the body has ended.
    void reset() noexcept;

private:
    control_block* fiber_ = nullptr;
};

/// join() of a handle that names no fiber breaks its contract.
void require_joinable(bool) noexcept;

}  // namespace weft::detail
