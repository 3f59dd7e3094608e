// callback.hpp - the meeting of one fiber that waits with a callback that may come before, after, twice or never.
//
//  phase      leaves by
//  open       resume or the loss of its last copy -> claimed | the waiter gives up -> abandoned
//  claimed    publish -> done
//  done       -
//  abandoned  -
//
// Invariants
//   N1  The one change out of `open` decides: a callback that comes second, or late, finds another phase and is only counted.
//   N2  The result is written between claimed and done, by the claimer alone, under no lock; it is read after done.
//   N3  Once claimed the waiter does not give up: the result is on its way, and it takes it.
//   N4  The state lives on the heap until the last of waiter and callbacks has gone.
#pragma once

#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <weft/detail/opaque.hpp>

namespace weft::detail {

/// First statement of the park points made here: throws `cancelled` if the caller is to stop.
void enter_callback_wait();

class callback_core {
public:
    callback_core() noexcept;
    callback_core(const callback_core&) = delete;
    callback_core& operator=(const callback_core&) = delete;

    [[nodiscard]] bool claim() noexcept;
    /// The claimer, once.
    void publish() noexcept;
    /// The waiter gives up. False: too late, a result is there or on its way.
    bool abandon() noexcept;
    /// \parks    until published.
    /// \returns  false if the caller was interrupted and has given up.
    bool wait() noexcept;

    static void count_ignored() noexcept;

private:
    opaque<4 * sizeof(void*)> state_;
};

struct no_value {};

template <class T>
struct callback_state : callback_core {
    std::optional<std::conditional_t<std::is_void_v<T>, no_value, T>> value;
    std::exception_ptr error;

    /// `fill` writes the result.
    template <class Fill>
    void resume(Fill&& fill) noexcept {
        if (!claim()) return count_ignored();
        settle(fill);
    }

    /// The last callback has gone without a call.
    void resume_broken() noexcept {
        if (!claim()) return;
        settle([&] { error = std::make_exception_ptr(std::future_error(std::future_errc::broken_promise)); });
    }

    T take() {
        if (error) std::rethrow_exception(error);
        if constexpr (!std::is_void_v<T>) return std::move(*value);
    }

private:
    template <class Fill>
    void settle(Fill&& fill) noexcept {
        try {
            fill();
        } catch (...) {  // the value's own move
            error = std::current_exception();
        }
        publish();
    }
};

/// What all copies of one callback share.
template <class T>
struct callback_ticket {
    explicit callback_ticket(std::shared_ptr<callback_state<T>> s) noexcept : state(std::move(s)) {}
    callback_ticket(const callback_ticket&) = delete;
    callback_ticket& operator=(const callback_ticket&) = delete;
    ~callback_ticket() { state->resume_broken(); }

    std::shared_ptr<callback_state<T>> state;
};

}  // namespace weft::detail
