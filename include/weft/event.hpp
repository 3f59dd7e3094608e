// event.hpp - something that has happened, or not yet: waits until somebody says that it has.
//
// Rules
//   1  manual: set() ends all waits, and those to come do not wait, until reset().
//   2  automatic: set() ends the oldest wait; with none under way it is kept for the next. Several that are kept are one.
//   3  A wait that was stopped or timed out has not used up a set().
//   4  set() does not touch the event after it has ended a wait: a waiter may destroy it.
#pragma once

#include <cstdint>

#include <weft/detail/opaque.hpp>
#include <weft/detail/timed_wait.hpp>

namespace weft {

namespace detail {
struct waiting_room;
}

/// wait(), wait_for(), wait_until(): until it is set (detail::timed_wait).
class event : public detail::timed_wait<event> {
public:
    enum class kind : std::uint8_t { manual, automatic };
    using enum kind;

    explicit constexpr event(kind k = manual) noexcept : kind_(k) {}
    ~event();
    event(const event&) = delete;
    event& operator=(const event&) = delete;

    void set() noexcept;
    void reset() noexcept;
    /// wait(), if that is possible without waiting: an automatic event is reset by it.
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
