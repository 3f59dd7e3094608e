// resumable.hpp - what can be taken one step further: all that a scheduler of your own must know.
//
// Such types are weft::coroutine<> and classes derived from it, weft::coroutine<R()>,
// std::coroutine_handle<>, and any type of yours that has the two members. No runtime is needed. In
// a runtime, a fiber that resumes such an object until it is done makes the object a fiber. See
// docs/guide/6-coroutines.md.
#pragma once

#include <weft/detail/requirements.hpp>

#include <concepts>
#include <memory>
#include <type_traits>

namespace weft {

/// `resume()` runs the object to its next pause or to its end. `done()` says whether it has ended;
/// it is not resumed again then. resume() may throw what the object throws: a coroutine<R()> whose
/// body ends without a value throws coroutine_done at that end (coroutine.hpp).
template <class T>
concept resumable = requires(T& object, T const& seen) {
    object.resume();
    { seen.done() } -> std::convertible_to<bool>;
};

/// A reference to any resumable object, for a queue in which they are mixed. It takes two pointers,
/// and is resumable itself. The object must outlive it.
///
///     std::deque<weft::resumable_ref> queue{greeter, counter};
///     queue.front().resume();
class resumable_ref {
public:
    template <resumable T>
        requires(!std::same_as<std::remove_const_t<T>, resumable_ref>)
    // NOLINTNEXTLINE(google-explicit-constructor): a reference, as std::ref makes it
    resumable_ref(T& object) noexcept
        : object_(const_cast<std::remove_const_t<T>*>(std::addressof(object))), acts_(&acts_of<T>) {}

    /// Resumes the object.
    /// \throws  what the object throws.
    /// \parks   if the object does.
    void resume() const { acts_->resume(object_); }
    [[nodiscard]] bool done() const { return acts_->done(object_); }

private:
    struct acts {
        void (*resume)(void*);
        bool (*done)(void*);
    };
    template <class T>
    static constexpr acts acts_of = {
        [](void* object) { static_cast<void>(static_cast<T*>(object)->resume()); },
        [](void* object) { return static_cast<bool>(static_cast<std::add_const_t<T>*>(object)->done()); }};

    void* object_;
    acts const* acts_;
};

}  // namespace weft
