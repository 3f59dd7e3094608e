// coroutine.hpp - a function that can pause and be called again: own stack, its caller's thread.
//
// It needs no runtime. Inside a fiber it is part of that fiber: where its body parks, the fiber
// parks. A suspended coroutine may be called from another thread next time; it must not be called
// by two threads at once. See docs/guide/6-coroutines.md.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include <weft/detail/coroutine_core.hpp>
#include <weft/detail/export.hpp>

namespace weft {

template <class Signature = void()>
class coroutine;

/// A coroutine to which nothing is passed.
///
///     weft::coroutine<> ticks([] { for (;;) { tick(); weft::coroutine<>::yield(); } });
///     ticks.call();  // runs the body to its next yield()
///
/// It is also a base class for classes whose method is the body:
///
///     class feeder : public weft::coroutine<> {
///     public:
///         explicit feeder(person& p) : coroutine(&feeder::run), person_(p) {}
///         ~feeder() override { unwind(); }  // a suspended run() may still use the members
///     private:
///         void run() { while (!person_.satisfied()) { person_.feed(); yield(); } }
///         person& person_;
///     };
template <>
class WEFT_EXPORT coroutine<void()> {
public:
    /// The body is any function without arguments; it does not start before the first call().
    /// \throws std::system_error when memory for the stack is refused.
    template <class F>
        requires(!std::derived_from<std::remove_cvref_t<F>, coroutine> && std::invocable<std::decay_t<F>&>)
    // NOLINTNEXTLINE(bugprone-forwarding-reference-overload): constrained
    explicit coroutine(F&& body, coroutine_options options = {})
        : core_(detail::make_coroutine<invoked<std::decay_t<F>>>(options, std::in_place, std::forward<F>(body))) {}

    /// Destroying a suspended coroutine unwinds its stack: its yield() throws something that is not
    /// a std::exception. If the body throws anything else meanwhile, the program is terminated.
    virtual ~coroutine() = default;
    coroutine(coroutine const&) = delete;
    coroutine& operator=(coroutine const&) = delete;

    /// Runs the body to its next yield() or to its end.
    ///
    /// \throws  what the body throws, which ends the coroutine; coroutine_done if it had ended
    ///          before.
    /// \parks   if the body does.
    /// \cost    two switches of stacks, the one of the yield() included; no lock, no allocation.
    void call() { detail::call_coroutine(*core_, nullptr); }
    /// Do what call() does, under the names that coroutine<R(A)> and std::coroutine_handle use.
    /// \see resumable.hpp
    void operator()() { call(); }
    void resume() { call(); }
    /// \returns whether the body has ended: the coroutine cannot be called again.
    [[nodiscard]] bool done() const noexcept { return state() == coroutine_state::done; }

    /// Returns to the caller of the innermost running coroutine; that coroutine's next call() goes
    /// on here. Does nothing in destructors that run because the coroutine is destroyed.
    static void yield() {
        if (auto* const core = detail::leave_innermost()) detail::take_input(*core);
    }

    /// Suspends the innermost running coroutine and goes on in `other`. At its next yield or end,
    /// `other` returns to the caller of the suspended one.
    /// \throws coroutine_done if `other` has ended.
    static void transfer_to(coroutine& other) { detail::transfer_from_innermost(*other.core_); }

    [[nodiscard]] coroutine_state state() const noexcept { return detail::state_of(*core_); }

protected:
    template <class Derived>
        requires std::derived_from<Derived, coroutine>
    explicit coroutine(void (Derived::*method)(), coroutine_options options = {}) : core_(make_method(*this, method, options)) {}

    /// Unwinds a suspended body now; for the destructor of a class whose method uses its members.
    void unwind() noexcept { detail::unwind_coroutine(*core_); }

private:
    template <class F>
    struct invoked {
        F body;
        invoked(std::in_place_t, auto&& f) : body(std::forward<decltype(f)>(f)) {}
        void* run(detail::coroutine_core&, void*) {
            static_cast<void>(std::invoke(body));
            return nullptr;
        }
    };

    template <class Derived>
    static detail::coroutine_ptr make_method(coroutine& self, void (Derived::*method)(), coroutine_options options) {
        auto call = [&self, method] { (static_cast<Derived&>(self).*method)(); };
        return detail::make_coroutine<invoked<decltype(call)>>(options, std::in_place, call);
    }

    detail::coroutine_ptr core_;
};

/// A coroutine to which each call passes an A, and whose yield(R) returns an R: `R operator()(A)`
/// runs the body to its next `A yield(R)`. A may be missing, R may be void.
///
///     weft::coroutine<double(double)> mean([](auto& yield, double x) {
///         double sum = 0;
///         for (int n = 1;; ++n) { sum += x; x = yield(sum / n); }
///     });
///     mean(2), mean(4);  // 2, then 3
template <class R, class... A>
class coroutine<R(A...)> {
    static_assert(sizeof...(A) <= 1, "a coroutine takes one argument per call; put several into a struct");

    using input = std::tuple_element_t<0, std::tuple<A..., void>>;

public:
    /// What the body gets, to yield with.
    class yielder {
    public:
        /// Returns `value...` from the current call. \returns the next call's argument.
        template <class... V>
            requires(std::is_void_v<R> ? sizeof...(V) == 0 : sizeof...(V) == 1 && (std::convertible_to<V&&, R> && ...))
        input operator()(V&&... value) {
            if constexpr (std::is_void_v<R>) {
                return take(detail::yield_coroutine(core_, nullptr));
            } else if constexpr (std::is_reference_v<R>) {
                R passed(std::forward<V>(value)...);
                return take(detail::yield_coroutine(core_, address(passed)));
            } else {
                R passed = (std::forward<V>(value), ...);
                return take(detail::yield_coroutine(core_, address(passed)));
            }
        }
        yielder(yielder const&) = delete;
        yielder& operator=(yielder const&) = delete;

    private:
        friend class coroutine;
        explicit yielder(detail::coroutine_core& core) noexcept : core_(core) {}
        detail::coroutine_core& core_;
    };

    /// The body is called as f(yield, first argument). It returns either R, which is its last
    /// value, or void; with void, the call that reaches the end throws coroutine_done, unless R is
    /// void.
    /// \throws std::system_error when memory for the stack is refused.
    template <class F>
        requires(!std::same_as<std::remove_cvref_t<F>, coroutine> && std::invocable<std::decay_t<F>&, yielder&, A...>)
    // NOLINTNEXTLINE(bugprone-forwarding-reference-overload): constrained
    explicit coroutine(F&& body, coroutine_options options = {})
        : core_(detail::make_coroutine<invoked<std::decay_t<F>>>(options, std::in_place, std::forward<F>(body))) {}

    coroutine(coroutine&&) noexcept = default;
    coroutine& operator=(coroutine&&) noexcept = default;

    /// Passes an argument in and runs the body to its next yield or to its end.
    ///
    /// \returns what the body yields or, at its end, returns.
    /// \throws  what the body throws, which ends the coroutine; coroutine_done if it has ended
    ///          without a value for this call.
    /// \parks   if the body does.
    R operator()(A... argument) {
        if (!core_) detail::throw_coroutine_done();
        void* const output = detail::call_coroutine(*core_, address(argument...));
        if constexpr (!std::is_void_v<R>) {
            if (output == nullptr) detail::refuse_missing_output(*core_);
            return static_cast<R&&>(*static_cast<std::remove_reference_t<R>*>(output));
        }
    }

    /// Does what the call operator does, under the name that coroutine<> and std::coroutine_handle
    /// use. A coroutine<R()> is resumable (resumable.hpp). If its body returns void and R is not
    /// void, the resume() behind the last yield throws coroutine_done, although done() was false
    /// before: only that step shows that there is no further value.
    R resume(A... argument) { return (*this)(static_cast<A&&>(argument)...); }
    /// \returns whether the body has ended: a call throws coroutine_done. True after a move.
    [[nodiscard]] bool done() const noexcept { return state() == coroutine_state::done; }

    /// \returns the state; a moved-from coroutine is done.
    [[nodiscard]] coroutine_state state() const noexcept { return core_ ? detail::state_of(*core_) : coroutine_state::done; }

private:
    static void* address() noexcept { return nullptr; }
    template <class T>
    static void* address(T& value) noexcept {
        return const_cast<void*>(static_cast<void const*>(std::addressof(value)));
    }

    static input take([[maybe_unused]] void* passed) {
        if constexpr (!std::is_void_v<input>) return static_cast<input&&>(*static_cast<std::remove_reference_t<input>*>(passed));
    }

    template <class F>
    struct invoked {
        using result = std::invoke_result_t<F&, yielder&, A...>;
        static constexpr bool ends_with_value = !std::is_void_v<R> && !std::is_void_v<result>;
        struct none {};
        using stored = std::conditional_t<std::is_reference_v<R>, std::remove_reference_t<R>*, R>;

        F body;
        std::conditional_t<ends_with_value, std::optional<std::conditional_t<ends_with_value, stored, none>>, none> last;

        invoked(std::in_place_t, auto&& f) : body(std::forward<decltype(f)>(f)) {}

        void* run(detail::coroutine_core& core, void* passed) {
            yielder yield(core);
            if constexpr (!ends_with_value) {
                static_cast<void>(start(yield, passed));
                return nullptr;
            } else if constexpr (std::is_reference_v<R>) {
                R final = start(yield, passed);
                return address(final);
            } else {
                last.emplace(start(yield, passed));
                return address(*last);
            }
        }

        result start(yielder& yield, [[maybe_unused]] void* passed) {
            if constexpr (sizeof...(A) == 0)
                return std::invoke(body, yield);
            else
                return std::invoke(body, yield, take(passed));
        }
    };

    detail::coroutine_ptr core_;
};

}  // namespace weft
