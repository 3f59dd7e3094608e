// callback.hpp - one fiber waits for a callback that may come early, late, twice or never.
//
//  phase      leaves by
//  open       resume(), or the loss of the last copy -> claimed | the waiter gives up -> abandoned
//  claimed    publish -> done
//  done       -
//  abandoned  -
//
// Invariants
//   CALLBACK-1  The single transition out of `open` decides: a second or late callback finds
//               another phase and is only counted.
//   CALLBACK-2  The result is written between claimed and done, by the claimer alone and without a
//               lock; it is read after done.
//   CALLBACK-3  Once the phase is claimed, the waiter does not give up: the result is on its way,
//               and the waiter takes it.
//   CALLBACK-4  The state lives on the heap until the waiter and all callbacks have gone.
#pragma once

#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <weft/detail/export.hpp>
#include <weft/detail/opaque.hpp>

namespace weft::detail {

/// The first statement of the park points defined here: throws `cancelled` if the caller has been
/// asked to stop.
WEFT_EXPORT void enter_callback_wait();

class WEFT_EXPORT callback_core {
public:
    callback_core() noexcept;
    callback_core(const callback_core&) = delete;
    callback_core& operator=(const callback_core&) = delete;

    [[nodiscard]] bool claim() noexcept;
    /// Called once, by the claimer.
    void publish() noexcept;
    /// The waiter gives up. \returns false if it is too late: a result is there or on its way.
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

    /// Claims the state and lets `fill` write the result; counts the call if it comes second or
    /// late.
    template <class Fill>
    void resume(Fill&& fill) noexcept {
        if (!claim()) return count_ignored();
        settle(fill);
    }

    /// The last callback was destroyed without being called.
    void resume_broken() noexcept {
        if (!claim()) return;
        settle([&] { error = std::make_exception_ptr(std::future_error(std::future_errc::broken_promise)); });
    }

    T take() {
        // Taken out, so that the thread that called back, which may go last, does not destroy it.
        if (error) std::rethrow_exception(std::exchange(error, nullptr));
        if constexpr (!std::is_void_v<T>) return std::move(*value);
    }

private:
    template <class Fill>
    void settle(Fill&& fill) noexcept {
        try {
            fill();
        } catch (...) {  // thrown by the move of the value
            error = std::current_exception();
        }
        publish();
    }
};

/// The state that all copies of one callback share.
template <class T>
struct callback_ticket {
    explicit callback_ticket(std::shared_ptr<callback_state<T>> s) noexcept : state(std::move(s)) {}
    callback_ticket(const callback_ticket&) = delete;
    callback_ticket& operator=(const callback_ticket&) = delete;
    ~callback_ticket() { state->resume_broken(); }

    std::shared_ptr<callback_state<T>> state;
};

}  // namespace weft::detail
