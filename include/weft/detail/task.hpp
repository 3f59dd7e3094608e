// task.hpp - the body of a fiber and the place of its result, type-erased for the compiled core.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <stop_token>
#include <tuple>
#include <type_traits>
#include <utility>

namespace weft::detail {

/// How a task refers to its fiber's values of fiber_local<T>: a number, or one of these: none yet,
/// none any more.
inline constexpr std::uint32_t no_locals = 0, no_more_locals = 0xffff'ffff;

/// The room for a body in a control block; a larger body is on the heap.
// chosen: closures of up to 56 bytes
inline constexpr std::size_t body_room = 88, body_alignment = 16;

/// Destroys a fiber's values of fiber_local<T>. Called on that fiber.
WEFT_EXPORT void end_locals(std::uint32_t locals) noexcept;

class WEFT_EXPORT task {
public:
    task() = default;
    task(const task&) = delete;
    task& operator=(const task&) = delete;
    virtual ~task() = default;

    /// Runs the body once and keeps its result or the exception it threw.
    [[gnu::always_inline]] void run() noexcept {
        try {
            body();
        } catch (...) {
            failure_ = std::current_exception();
        }
        if (locals_ != no_locals) [[unlikely]]
            end_locals(locals_);
        locals_ = no_more_locals;
    }
    const std::exception_ptr& failure() const noexcept { return failure_; }

private:
    friend std::uint32_t& locals_of(task&) noexcept;
    virtual void body() = 0;
    std::exception_ptr failure_;
    // Refers to the fiber's values of fiber_local<T>. Placed where most results leave a gap.
    std::uint32_t locals_ = no_locals;
};

inline std::uint32_t& locals_of(task& t) noexcept { return t.locals_; }

/// A task with a result of type R; a reference is kept as a pointer.
template <class R>
class result_task : public task {
public:
    /// Moves the result out, or throws what the body threw. Called once, after the body has ended.
    R take() {
        if (failure()) std::rethrow_exception(failure());
        if constexpr (std::is_reference_v<R>)
            return static_cast<R>(**result_);
        else if constexpr (!std::is_void_v<R>)
            return std::move(*result_);
    }

protected:
    template <class F>
    void keep(F&& f) {
        if constexpr (std::is_void_v<R>)
            std::forward<F>(f)();
        else if constexpr (std::is_reference_v<R>)
            result_.emplace(std::addressof(std::forward<F>(f)()));
        else
            result_.emplace(std::forward<F>(f)());
    }

private:
    struct nothing {};
    using stored = std::conditional_t<std::is_void_v<R>, nothing,
                                      std::conditional_t<std::is_reference_v<R>, std::remove_reference_t<R>*, R>>;
    std::optional<stored> result_;
};

/// The result of calling F with A..., where both are decayed copies, as std::thread does. If F
/// takes a leading std::stop_token parameter, it is supplied.
template <class F, class... A>
struct spawned {
    static constexpr bool takes_token = std::is_invocable_v<std::decay_t<F>, std::stop_token, std::decay_t<A>...>;
    static_assert(takes_token || std::is_invocable_v<std::decay_t<F>, std::decay_t<A>...>,
                  "weft::spawn: the function cannot be called with these arguments (they are copied or moved into the fiber; "
                  "use std::ref to pass a reference)");
    static auto type() {
        if constexpr (takes_token)
            return std::type_identity<std::invoke_result_t<std::decay_t<F>, std::stop_token, std::decay_t<A>...>>{};
        else
            return std::type_identity<std::invoke_result_t<std::decay_t<F>, std::decay_t<A>...>>{};
    }
    using result = typename decltype(type())::type;
};

template <class F, class... A>
using spawn_result_t = typename spawned<F, A...>::result;

/// The stop token of the calling fiber; on a plain thread a token that is never stopped.
WEFT_EXPORT std::stop_token this_stop_token();

/// Calls f with its arguments once, and destroys both when the call has ended, so what a body
/// captures does not outlive the call.
template <class F, class... A>
class call_task final : public result_task<spawn_result_t<F, A...>> {
public:
    template <class G, class... B>
    explicit call_task(G&& f, B&&... args) : call_(std::in_place, std::forward<G>(f), std::forward<B>(args)...) {}

private:
    using call = std::tuple<std::decay_t<F>, std::decay_t<A>...>;

    void body() override {
        struct at_end {
            std::optional<call>& what;
            ~at_end() { what.reset(); }
        } const destroy{call_};
        this->keep([&]() -> decltype(auto) {
            return std::apply(
                [](auto& f, auto&... args) -> decltype(auto) {
                    if constexpr (spawned<F, A...>::takes_token)
                        return std::invoke(std::move(f), this_stop_token(), std::move(args)...);
                    else
                        return std::invoke(std::move(f), std::move(args)...);
                },
                *call_);
        });
    }

    std::optional<call> call_;
};

}  // namespace weft::detail
