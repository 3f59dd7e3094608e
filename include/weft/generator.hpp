// generator.hpp - a function that produces a range, element by element, from any depth of calls.
//
// It is a coroutine: it needs no runtime, and inside a fiber its body parks that fiber. A generator
// that is suspended between two elements may be stepped by another thread next time; it must not be
// stepped by two threads at once. See docs/guide/6-coroutines.md.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <ranges>
#include <type_traits>
#include <utility>

#include <weft/detail/generator_core.hpp>

namespace weft {

template <class T>
class generator;

/// What the body of a generator<T> gets, to yield with. Functions that the body calls take it by
/// reference; recursive ones, too:
///
///     void walk(node const* n, weft::yielder<int>& yield) {
///         if (n == nullptr) return;
///         walk(n->left, yield);
///         yield(n->key);
///         walk(n->right, yield);
///     }
template <class T>
class yielder {
    static_assert(std::is_reference_v<T> || std::is_object_v<T>, "a generator produces objects or references");

public:
    /// Hands out an element and returns when the next one is wanted; the element lives until then.
    /// An rvalue is handed out itself; of a named object the loop gets a copy, unless T is a
    /// reference.
    void operator()(T&& value) { detail::yield_element(flow_, address(value)); }
    void operator()(T const& value)
        requires(!std::is_reference_v<T> && std::copy_constructible<T>)
    {
        T copy(value);
        detail::yield_element(flow_, address(copy));
    }

    /// Hands out all that `other` produces, and owns it meanwhile. The cost of an element does not
    /// grow with the depth of such calls.
    /// \throws  what the body of `other` throws, after its last element.
    void from(generator<T>&& other);

    /// Hands out the elements of any range, for example of a generator that is kept elsewhere.
    template <std::ranges::input_range Range>
        requires std::convertible_to<std::ranges::range_reference_t<Range>, T>
    void from(Range&& range) {
        for (auto&& value : range) (*this)(static_cast<T>(std::forward<decltype(value)>(value)));
    }

    yielder(yielder const&) = delete;
    yielder& operator=(yielder const&) = delete;

private:
    friend class generator<T>;
    explicit yielder(detail::generator_flow& flow) noexcept : flow_(flow) {}
    static void* address(std::remove_reference_t<T>& value) noexcept {
        return const_cast<void*>(static_cast<void const*>(std::addressof(value)));
    }

    detail::generator_flow& flow_;
};

/// A range of what a function yields; each element is made when it is asked for. An input range,
/// move-only.
///
///     weft::generator<int> keys([=](weft::yielder<int>& yield) { walk(root, yield); });
///     for (int key : keys | std::views::take(10)) std::cout << key;
///
/// A generator<T> owns its elements: `for (T x : g)` copies them, or moves them if they can only be
/// moved. T may be a reference. A generator that is default-constructed or moved from is an empty
/// range.
///
/// Destroying a generator between two elements unwinds its stack: the yield there throws something
/// that is not a std::exception.
template <class T>
class generator {
    using stored = std::remove_reference_t<T>;

public:
    using value_type = std::remove_cvref_t<T>;
    /// If T cannot be copied this is T&&, so that a loop may name its variable by value.
    using reference = std::conditional_t<std::is_reference_v<T>, T, std::conditional_t<std::copy_constructible<T>, T&, T&&>>;

    generator() = default;

    /// The body is called as f(yielder<T>&); it does not start before begin().
    /// \throws std::system_error when memory for the stack is refused.
    template <class F>
        requires(!std::same_as<std::remove_cvref_t<F>, generator> && std::invocable<std::decay_t<F>&, yielder<T>&>)
    // NOLINTNEXTLINE(bugprone-forwarding-reference-overload): constrained
    explicit generator(F&& body, coroutine_options options = {}) {
        using made = producing<std::decay_t<F>>;
        core_ = detail::make_coroutine<made>(options, std::in_place, std::forward<F>(body));
        flow_ = static_cast<made*>(detail::body_memory(*core_));
        flow_->core = core_.get();
    }

    /// Names an element, not a position: all iterators of a generator stand on the same element.
    /// Moving the generator keeps them valid.
    class iterator {
    public:
        using value_type = generator::value_type;
        using difference_type = std::ptrdiff_t;
        using iterator_concept = std::input_iterator_tag;

        iterator() = default;

        /// \throws coroutine_done after the last element.
        reference operator*() const { return static_cast<reference>(*current()); }
        stored* operator->() const { return current(); }

        /// Runs the body to its next element or to its end.
        /// \parks   if the body does.
        /// \throws  what the body throws, which ends the range; coroutine_done after the last
        ///          element.
        iterator& operator++() {
            static_cast<void>(current());
            detail::step_generator(*flow_);
            return *this;
        }
        void operator++(int) { ++*this; }

        friend bool operator==(iterator const& i, std::default_sentinel_t) noexcept {
            return i.flow_ == nullptr || i.flow_->element == nullptr;
        }

    private:
        friend class generator;
        explicit iterator(detail::generator_flow& flow) noexcept : flow_(&flow) {}
        [[nodiscard]] stored* current() const {
            if (*this == std::default_sentinel) detail::throw_coroutine_done();
            return static_cast<stored*>(flow_->element);
        }

        detail::generator_flow* flow_ = nullptr;
    };

    /// The first call runs the body to its first element. Later calls only name the current
    /// element: a second loop goes on at the element where the first was left.
    ///
    /// \parks   if the body does, in the first call.
    /// \throws  what the body throws, which ends the range.
    iterator begin() {
        if (!core_) return {};
        if (!flow_->begun) detail::step_generator(*flow_);
        return iterator(*flow_);
    }
    [[nodiscard]] static std::default_sentinel_t end() noexcept { return {}; }

private:
    friend class yielder<T>;

    template <class F>
    struct producing : detail::generator_flow {
        F body;
        producing(std::in_place_t, auto&& f) : body(std::forward<decltype(f)>(f)) {}
        void* run(detail::coroutine_core&, void*) {
            yielder<T> yield(*this);
            static_cast<void>(std::invoke(body, yield));
            return nullptr;
        }
    };

    detail::coroutine_ptr core_;
    detail::generator_flow* flow_ = nullptr;  // beside the body; means nothing once core_ is empty
};

template <class T>
void yielder<T>::from(generator<T>&& other) {
    generator<T> inner(std::move(other));
    if (!inner.core_) return;
    if (inner.flow_->begun)
        from(inner);  // as a range: an iterator of it may have stepped it already
    else
        detail::yield_from(flow_, *inner.flow_);
}

}  // namespace weft
