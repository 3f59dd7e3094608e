// spawn_forms.hpp - the overloads by which a function that spawns learns where it was called.
//
// Where a function was called is the default argument of its last parameter, and no parameter can
// have its default after a pack that is deduced. So each number of arguments up to five has an
// overload of its own, and further arguments make a pack, without the place. Where a runtime is the
// first argument, it brings the place along, and any number of arguments may follow.
#pragma once

#include <concepts>
#include <source_location>
#include <type_traits>
#include <utility>

#include <weft/detail/new_fiber.hpp>

namespace weft {

class runtime;
struct attributes;

namespace detail {

template <class F>
concept not_attributes = !std::same_as<std::remove_cvref_t<F>, attributes> && !std::same_as<std::remove_cvref_t<F>, runtime>;

/// The runtime of spawn(rt, f, args...), and where that was called: the place is the default
/// argument of a conversion, which the call makes.
struct runtime_at {
    // NOLINTNEXTLINE(google-explicit-constructor): callers pass a runtime
    runtime_at(runtime& r, std::source_location site = std::source_location::current()) noexcept : rt(r), where(site) {}

    runtime& rt;
    std::source_location where;
};

/// The runtime, as a type that depends on F: the class is not complete where it is used.
template <class F>
struct runtime_for {
    using type = runtime;
};
template <class F>
typename runtime_for<F>::type& runtime_of(const runtime_at& r) noexcept {
    return r.rt;
}

}  // namespace detail
}  // namespace weft

/// Declares the overloads of `name`(f, args...) for bodies with and without arguments. They call
/// `start`(call_site, f, args...).
#define WEFT_DETAIL_SPAWN_FORMS(name, start)                                                                                     \
    template <::weft::detail::not_attributes F>                                                                                  \
    auto name(F&& f, ::weft::detail::call_site site = {}) {                                                                      \
        return start(site, std::forward<F>(f));                                                                                  \
    }                                                                                                                            \
    template <::weft::detail::not_attributes F, class A>                                                                         \
    auto name(F&& f, A&& a, ::weft::detail::call_site site = {}) {                                                               \
        return start(site, std::forward<F>(f), std::forward<A>(a));                                                              \
    }                                                                                                                            \
    template <::weft::detail::not_attributes F, class A, class B>                                                                \
    auto name(F&& f, A&& a, B&& b, ::weft::detail::call_site site = {}) {                                                        \
        return start(site, std::forward<F>(f), std::forward<A>(a), std::forward<B>(b));                                          \
    }                                                                                                                            \
    template <::weft::detail::not_attributes F, class A, class B, class C>                                                       \
    auto name(F&& f, A&& a, B&& b, C&& c, ::weft::detail::call_site site = {}) {                                                 \
        return start(site, std::forward<F>(f), std::forward<A>(a), std::forward<B>(b), std::forward<C>(c));                      \
    }                                                                                                                            \
    template <::weft::detail::not_attributes F, class A, class B, class C, class D>                                              \
    auto name(F&& f, A&& a, B&& b, C&& c, D&& d, ::weft::detail::call_site site = {}) {                                          \
        return start(site, std::forward<F>(f), std::forward<A>(a), std::forward<B>(b), std::forward<C>(c), std::forward<D>(d));  \
    }                                                                                                                            \
    template <::weft::detail::not_attributes F, class A, class B, class C, class D, class E>                                     \
    auto name(F&& f, A&& a, B&& b, C&& c, D&& d, E&& e, ::weft::detail::call_site site = {}) {                                   \
        return start(site, std::forward<F>(f), std::forward<A>(a), std::forward<B>(b), std::forward<C>(c), std::forward<D>(d),   \
                     std::forward<E>(e));                                                                                        \
    }                                                                                                                            \
    template <::weft::detail::not_attributes F, class A, class B, class C, class D, class E, class G, class... More>             \
    auto name(F&& f, A&& a, B&& b, C&& c, D&& d, E&& e, G&& g, More&&... more) {                                                 \
        return start(::weft::detail::call_site{.where = {}}, std::forward<F>(f), std::forward<A>(a), std::forward<B>(b),         \
                     std::forward<C>(c), std::forward<D>(d), std::forward<E>(e), std::forward<G>(g),                             \
                     std::forward<More>(more)...);                                                                               \
    }
