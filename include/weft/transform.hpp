// transform.hpp - receiving ends that are made of other ones: transform() and mix().
//
// Rules
//   1  Such an end stores nothing and needs no fiber: a receive from it is a receive from one of
//      its sources. So it changes neither the order nor the buffering of the values.
//   2  It holds a handle of each source, which therefore lives as long as the end. Copies of the
//      end have the same sources.
//   3  It can be a case of select: on_receive(end, f). A mix has one index there, but is
//      drawn as often as if each of its sources were a case of its own.
//   4  It ends when all its sources are closed and drained.
//   5  Copies of a transformed end share its function, which is never copied; calls of it may come
//      from several fibers at once.
#pragma once

#include <weft/detail/requirements.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include <weft/channel.hpp>
#include <weft/detail/receiving.hpp>
#include <weft/select.hpp>

namespace weft {

namespace detail {

/// The operations of an end `Self` whose values are of type T. Self::pending() begins a receive.
template <class Self, class T>
class adapted_end : public adapted_end_base {
public:
    using value_type = T;

    /// Waits for a value and takes it.
    ///
    /// \returns  the value; an empty optional once all sources are closed and drained.
    /// \parks    while there is none.
    /// \throws   weft::cancelled, and then no value is lost; what the function of a transform()
    ///           throws, and then the one value that it was called with is gone.
    /// \cost     that of a select among the sources.
    std::optional<T> receive() const {
        std::optional<T> value;
        receive_pending(self().pending(), value, never);
        return value;
    }
    /// Looks at the sources in their order. \returns a value, or empty if there is none now.
    [[nodiscard]] std::optional<T> try_receive() const {
        std::optional<T> value;
        try_receive_pending(self().pending(), value);
        return value;
    }
    /// \returns done, empty or closed, as try_receive_op() of a channel.
    channel_op try_receive_op(T& out) const {
        std::optional<T> value;
        return assigned(out, value, try_receive_pending(self().pending(), value));
    }
    /// Receives as receive() does, but waits for at most `d`.
    /// \returns done, closed or timeout; `out` is assigned only when done. \parks as receive()
    template <class Rep, class Period>
    channel_op receive_for(T& out, const std::chrono::duration<Rep, Period>& d) const {
        std::optional<T> value;
        return assigned(out, value, receive_pending(self().pending(), value, deadline_in(d)));
    }
    /// Receives as receive_for() does, but waits until `t` at most.
    template <class Clock, class Duration>
    channel_op receive_until(T& out, const std::chrono::time_point<Clock, Duration>& t) const {
        std::optional<T> value;
        return assigned(out, value, receive_pending(self().pending(), value, deadline_at(t)));
    }

    class iterator {
    public:
        using value_type = T;
        using difference_type = std::ptrdiff_t;
        using iterator_concept = std::input_iterator_tag;
        using reference = std::conditional_t<std::copy_constructible<T>, T&, T&&>;

        explicit iterator(const Self& from) : from_(&from) { ++*this; }
        reference operator*() const noexcept { return static_cast<reference>(*current_); }
        iterator& operator++() {
            current_.reset();
            receive_pending(from_->pending(), current_, never);
            return *this;
        }
        void operator++(int) { ++*this; }
        friend bool operator==(const iterator& i, std::default_sentinel_t) noexcept { return !i.current_; }

    private:
        const Self* from_;
        mutable std::optional<T> current_;  // as in channel_iterator
    };

    /// The values as an input range, until the end. The end must outlive it. \parks as receive()
    iterator begin() const { return iterator(self()); }
    std::default_sentinel_t end() const noexcept { return {}; }

private:
    static channel_op assigned(T& out, std::optional<T>& value, channel_op result) {
        if (result == channel_op::done) out = std::move(*value);
        return result;
    }
    const Self& self() const noexcept { return static_cast<const Self&>(*this); }
};

template <class Source, class F>
using transformed_value = std::remove_cvref_t<std::invoke_result_t<const F&, typename Source::value_type>>;

}  // namespace detail

/// What transform() returns. See docs/guide/2-channels.md.
template <detail::receiving_end Source, class F>
class transformed : public detail::adapted_end<transformed<Source, F>, detail::transformed_value<Source, F>> {
public:
    transformed(Source source, F f) : source_(std::move(source)), f_(std::make_shared<const F>(std::move(f))) {}

    /// Closes the source.
    void close() const noexcept { source_.close(); }
    /// Whether the source is closed; values may still be stored.
    [[nodiscard]] bool closed() const noexcept { return source_.closed(); }

    /// Internal: for weft's own parts.
    auto pending() const { return detail::pending_transform<detail::pending_of_t<Source>, F>(detail::pending_of(source_), *f_); }

private:
    Source source_;
    std::shared_ptr<const F> f_;  // shared by copies, and null only after a move
};

/// What mix() returns. See docs/guide/2-channels.md.
template <detail::receiving_end First, detail::receiving_end... Sources>
    requires(std::same_as<typename First::value_type, typename Sources::value_type> && ...)
class mixed : public detail::adapted_end<mixed<First, Sources...>, typename First::value_type> {
public:
    explicit mixed(First first, Sources... sources) : sources_(std::move(first), std::move(sources)...) {}

    /// Closes all sources.
    void close() const noexcept {
        std::apply([](const auto&... source) { (source.close(), ...); }, sources_);
    }
    /// Whether all sources are closed; values may still be stored.
    [[nodiscard]] bool closed() const noexcept {
        return std::apply([](const auto&... source) { return (source.closed() && ...); }, sources_);
    }

    /// Internal: for weft's own parts.
    auto pending() const {
        return std::apply(
            [](const auto&... source) {
                return detail::pending_mix<detail::pending_of_t<First>, detail::pending_of_t<Sources>...>(
                    detail::pending_of(source)...);
            },
            sources_);
    }

private:
    std::tuple<First, Sources...> sources_;
};

/// A receiving end whose values are f(x) for each value x of `source`, a channel, a receiver, or an
/// end made by transform() or mix(). f is called by the code that receives, after x was taken and
/// without any lock: it may wait, and if it throws, the receive throws and x is gone. f is called
/// as const, perhaps by several fibers at once if several receive (rule 5).
///
/// \cost  one allocation, which copies of the end share; a receive and a select have none.
///
///     const auto lengths = weft::transform(words, [](const std::string& w) { return w.size(); });
///     std::optional<std::size_t> n = lengths.receive();
template <class Source, class F>
    requires detail::receiving_end<std::remove_cvref_t<Source>> &&
             std::invocable<const std::decay_t<F>&, typename std::remove_cvref_t<Source>::value_type>
[[nodiscard]] auto transform(Source&& source, F&& f) {
    using made = transformed<std::remove_cvref_t<Source>, std::decay_t<F>>;
    static_assert(!std::is_void_v<std::invoke_result_t<const std::decay_t<F>&, typename std::remove_cvref_t<Source>::value_type>>,
                  "weft::transform: the function returns the new value");
    return made(std::forward<Source>(source), std::forward<F>(f));
}

/// A receiving end that receives from whichever of `sources` has a value; their values are of one
/// type. Of several that have one, each is about equally likely. A source that has ended is left
/// out. A receive from the mix takes the value of a waiting sender as a receive from that sender's
/// own channel would.
///
///     for (const order& o : weft::mix(shop, phone.rx(), weft::transform(letters, read))) book(o);
template <class... Sources>
    requires(sizeof...(Sources) > 0 && (detail::receiving_end<std::remove_cvref_t<Sources>> && ...))
[[nodiscard]] auto mix(Sources&&... sources) {
    return mixed<std::remove_cvref_t<Sources>...>(std::forward<Sources>(sources)...);
}

/// Receives from such an end, as on_receive() of a channel does.
template <detail::adapted_handle End, class F = detail::do_nothing>
[[nodiscard]] auto on_receive(End&& end, F&& f = {}) {
    return detail::adapted_case<std::remove_cvref_t<End>, std::decay_t<F>>(std::forward<End>(end), std::forward<F>(f));
}

}  // namespace weft
