// use_fiber.hpp - a completion token of Asio that makes an asynchronous operation a call that parks.
//
// The handler of the operation runs where its I/O object runs it, on a thread of an io_context; it stores the
// result and wakes the fiber. State and result are shared by both, because the handler may still be in its last
// instructions when the fiber goes on.
#pragma once

#include <weft/detail/requirements.hpp>
#include <weft/event.hpp>
#include <weft/stop.hpp>

#include <boost/asio/async_result.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace weft::asio {

/// See use_fiber.
class use_fiber_t {
public:
    constexpr use_fiber_t() noexcept = default;

    /// Stores the error, or none, instead of throwing it: `use_fiber[error]`.
    [[nodiscard]] constexpr use_fiber_t operator[](boost::system::error_code& error) const noexcept {
        auto changed = *this;
        changed.error_ = &error;
        return changed;
    }

    /// If the fiber is stopped or its deadline passes, calls object.cancel() where the object runs, and
    /// waits for the end of the operation. `object` is the I/O object of the operation: a socket, a timer,
    /// a resolver.
    template <class Object>
    [[nodiscard]] use_fiber_t or_cancel(Object& object) const noexcept {
        auto changed = *this;
        changed.object_ = &object;
        changed.cancel_ = [](void* o, const std::shared_ptr<event>& done) {
            auto& target = *static_cast<Object*>(o);
            boost::asio::post(target.get_executor(), [&target, at_end = at_end_of(done)] {
                try {
                    target.cancel();
                } catch (const boost::system::system_error&) {}  // it has ended by itself
            });
        };
        return changed;
    }

    /// Waits for `done`, which the handler sets. \returns what has interrupted the wait, or null.
    std::exception_ptr wait(const event& done) const {
        std::exception_ptr interrupt;
        if (cancel_) {
            try {
                done.wait();
                return nullptr;
            } catch (const cancelled&) {
                interrupt = std::current_exception();
            }
        }
        const shield until_the_end;  // its buffers may be on this stack
        // Again and again: an operation that is made of several has nothing to cancel between two of them.
        for (auto pause = std::chrono::milliseconds(1); interrupt && !done.is_set(); pause = std::min(2 * pause, longest_pause)) {
            const auto has_cancelled = std::make_shared<event>();
            cancel_(object_, has_cancelled);
            has_cancelled->wait();
            static_cast<void>(done.wait_for(pause));
        }
        done.wait();
        return interrupt;
    }

    boost::system::error_code* error() const noexcept { return error_; }

private:
    static constexpr std::chrono::milliseconds longest_pause{100};  // chosen

    /// Sets the event when it is destroyed, also if the function that holds it was never called.
    static std::shared_ptr<void> at_end_of(std::shared_ptr<event> done) {
        auto* const e = done.get();
        return std::shared_ptr<void>(e, [keep = std::move(done)](event* ended) { ended->set(); });
    }

    boost::system::error_code* error_ = nullptr;
    void* object_ = nullptr;
    void (*cancel_)(void*, const std::shared_ptr<event>&) = nullptr;
};

/// Makes any asynchronous operation of Asio a call that parks the fiber, or blocks a plain thread, until the
/// operation has ended:
///
///     std::size_t n = socket.async_read_some(buffer, weft::use_fiber);
///
/// The call returns what the handler would be given: nothing, a value, or a std::tuple of several. An error is
/// thrown as boost::system::system_error. The I/O object belongs to an io_context that other threads run, such
/// as that of an asio::loop. The object must be destroyed before the io_context.
///
/// A stop or a deadline ends the wait only with `use_fiber.or_cancel(socket)`. If the operation then ends with
/// an error, the call throws weft::cancelled; if it has succeeded first, it returns, and the next call that
/// parks throws.
inline constexpr use_fiber_t use_fiber;

}  // namespace weft::asio

namespace weft {
using asio::use_fiber;
}

namespace weft::detail {

/// What a fiber and the handler share.
template <class... A>
struct asio_call {
    event done;
    std::optional<std::tuple<std::decay_t<A>...>> result;  // empty: the handler was destroyed without a call
};

template <class... A>
class asio_handler {
public:
    explicit asio_handler(std::shared_ptr<asio_call<A...>> call) noexcept : call_(std::move(call)) {}
    asio_handler(asio_handler&&) noexcept = default;
    asio_handler& operator=(asio_handler&&) = delete;
    ~asio_handler() {
        if (call_) call_->done.set();
    }

    template <class... Given>
    void operator()(Given&&... values) {
        call_->result.emplace(static_cast<std::decay_t<A>>(std::forward<Given>(values))...);  // Beast gives an int as a size
        const auto call = std::move(call_);
        call->done.set();
    }

private:
    std::shared_ptr<asio_call<A...>> call_;
};

template <class... A>
inline constexpr bool begins_with_error = false;
template <class... A>
inline constexpr bool begins_with_error<boost::system::error_code, A...> = true;
template <class... A>
inline constexpr bool begins_with_exception = false;
template <class... A>
inline constexpr bool begins_with_exception<std::exception_ptr, A...> = true;

// The type of what a call returns: nothing, the value, or all of them, without an error before them. Asio
// asks for it where it looks which of its overloads fits, so that no function may have to be compiled for it.
template <class... A>
struct asio_values_type {
    using type = std::tuple<A...>;
};
template <class A>
struct asio_values_type<A> {
    using type = A;
};
template <>
struct asio_values_type<> {
    using type = void;
};
template <class... A>
struct asio_answer_type : asio_values_type<A...> {};
template <class... A>
struct asio_answer_type<boost::system::error_code, A...> : asio_values_type<A...> {};
template <class... A>
struct asio_answer_type<std::exception_ptr, A...> : asio_values_type<A...> {};

template <class... A>
auto asio_values(A&&... all) {
    if constexpr (sizeof...(A) == 1)
        return (std::forward<A>(all), ...);
    else if constexpr (sizeof...(A) > 1)
        return std::tuple<A...>(std::forward<A>(all)...);
}

template <class... A>
auto asio_value(std::tuple<A...>&& all) {
    return std::apply([](A&&... each) { return asio_values(std::forward<A>(each)...); }, std::move(all));
}

template <class First, class... A>
auto asio_value_after_first(std::tuple<First, A...>&& all) {
    return std::apply([](First&&, A&&... others) { return asio_values(std::forward<A>(others)...); }, std::move(all));
}

/// What the call returns or throws.
/// \param interrupt  what has interrupted the wait; null: nothing.
template <class... A>
auto asio_answer(std::optional<std::tuple<A...>>&& result, const asio::use_fiber_t& token, const std::exception_ptr& interrupt) {
    constexpr const char* what = "weft: operation of Asio";
    const boost::system::error_code aborted = boost::asio::error::operation_aborted;
    if constexpr (begins_with_error<A...>) {
        const boost::system::error_code error = result ? std::get<0>(*result) : aborted;
        if (token.error())
            *token.error() = error;
        else if (error && interrupt)
            std::rethrow_exception(interrupt);
        else if (error)
            throw boost::system::system_error(error, what);
        if constexpr ((std::is_default_constructible_v<A> && ...)) {
            if (!result) result.emplace();
        } else {
            if (!result) throw boost::system::system_error(aborted, what);
        }
        return asio_value_after_first(std::move(*result));
    } else {
        if (!result) throw boost::system::system_error(aborted, what);
        if constexpr (begins_with_exception<A...>) {
            if (std::get<0>(*result)) std::rethrow_exception(std::get<0>(*result));
            return asio_value_after_first(std::move(*result));
        } else {
            return asio_value(std::move(*result));
        }
    }
}

}  // namespace weft::detail

namespace boost::asio {

template <class R, class... A>
class async_result<weft::asio::use_fiber_t, R(A...)> {
public:
    using return_type = typename weft::detail::asio_answer_type<std::decay_t<A>...>::type;

    template <class Initiation, class... Given>
    static return_type initiate(Initiation&& begin, weft::asio::use_fiber_t token, Given&&... given) {
        const auto call = std::make_shared<weft::detail::asio_call<A...>>();
        std::forward<Initiation>(begin)(weft::detail::asio_handler<A...>(call), std::forward<Given>(given)...);
        const auto interrupt = token.wait(call->done);
        return weft::detail::asio_answer(std::move(call->result), token, interrupt);
    }
};

}  // namespace boost::asio
