// fiber_ref.hpp - the compiled half of a handle: one reference to a fiber's control block.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>

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

/// Stops the program: waiting on a handle that refers to no fiber breaks its contract.
WEFT_EXPORT [[noreturn]] void panic_unjoinable() noexcept;
inline void require_joinable(bool joinable) noexcept {
    if (!joinable) [[unlikely]]
        panic_unjoinable();
}

class WEFT_EXPORT fiber_ref {
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

    struct joined {
        control_block* fiber;
        task* body;
    };
    /// Waits until the body has ended, or runs it. Empties the handle unless it throws. The caller
    /// must call drop_joined() once it has taken the result. \parks \throws cancelled
    joined join();
    static void drop_joined(control_block&) noexcept;
    /// Waits up to `until`. \returns whether the body has ended. \parks \throws cancelled
    bool wait_until(time_point until) const;
    /// Waits without a limit and is never interrupted: for destructors and the end of a scope.
    void wait_shielded() const noexcept;
    bool done() const noexcept;
    bool request_stop() const noexcept;
    std::stop_token stop_token() const;
    std::uint64_t id() const noexcept;
    /// Gives the fiber up; if its body fails later, the failure goes to on_unhandled.
    void detach() noexcept;
    /// Passes the failure of the ended body, which was not detached, to on_unhandled.
    void report_unhandled() const noexcept;
    /// The control block, for select.
    control_block* block() const noexcept { return fiber_; }
    /// Gives the reference to the caller, which must make a fiber_ref of it again.
    [[nodiscard]] control_block* release() noexcept { return std::exchange(fiber_, nullptr); }
    /// Drops the reference; destroys the result if the body has ended.
    void reset() noexcept;

private:
    control_block* fiber_ = nullptr;
};

/// Joins the fiber of a handle and empties the handle; the result lives as long as this object.
class WEFT_EXPORT joined_fiber {
public:
    explicit joined_fiber(fiber_ref& handle) : what_(handle.join()) {}
    ~joined_fiber() { fiber_ref::drop_joined(*what_.fiber); }
    joined_fiber(const joined_fiber&) = delete;
    joined_fiber& operator=(const joined_fiber&) = delete;

    task& body() const noexcept { return *what_.body; }
    /// Called if the body has thrown. Throws that exception, or fiber_cancelled if it was
    /// `cancelled` and the caller was not asked to stop.
    [[noreturn, gnu::cold]] void raise_failure() const;
    /// Called before the destructor: if the fiber is the child of a scope, the scope need not
    /// rethrow its failure.
    void note_taken() const noexcept;

private:
    const fiber_ref::joined what_;
};

}  // namespace weft::detail
