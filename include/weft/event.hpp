// event.hpp - something that has happened or not yet; lets fibers and threads wait until it has.
//
// Rules
//   1  manual: set() ends all waits, and later waits return at once, until reset().
//   2  automatic: set() ends the oldest wait. If there is none, the set() is kept for the next
//      wait; several kept ones count as one.
//   3  A wait that was stopped or timed out has not used up a set().
//   4  set() does not touch the event after it has ended a wait: a waiter may destroy it.
#pragma once

#include <cstdint>

#include <weft/detail/export.hpp>
#include <weft/detail/opaque.hpp>
#include <weft/detail/timed_wait.hpp>

namespace weft {

namespace detail {
struct waiting_room;
}

/// Lets fibers and plain threads wait until it is set. wait(), wait_for() and wait_until() are
/// those of detail::timed_wait.
///
///     weft::event ready;                                // manual: stays set until reset()
///     auto f = weft::spawn([&] { ready.wait(); go(); });
///     ready.set();
///
/// See docs/guide/7-meeting-points.md.
class WEFT_EXPORT event : public detail::timed_wait<event> {
public:
    enum class kind : std::uint8_t { manual, automatic };
    using enum kind;

    explicit constexpr event(kind k = manual) noexcept : kind_(k) {}
    ~event();
    event(const event&) = delete;
    event& operator=(const event&) = delete;

    void set() noexcept;
    void reset() noexcept;
    /// Does what wait() does if that is possible without waiting; this resets an automatic event.
    ///
    /// \returns  true if it was set.
    [[nodiscard]] bool try_wait() const noexcept;
    [[nodiscard]] bool is_set() const noexcept;

private:
    friend class detail::timed_wait<event>;
    bool wait_until_over(detail::time_point until, const std::stop_token*) const;
    detail::waiting_room& room() const noexcept;

    mutable detail::opaque<3 * sizeof(void*)> room_;
    const kind kind_;
};

}  // namespace weft
