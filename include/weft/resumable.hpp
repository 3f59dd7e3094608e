// resumable.hpp - what can be taken one step further: all that a scheduler of your own has to know of what it runs.
//
// weft::coroutine<> and classes derived from it, std::coroutine_handle<>, and any type of yours that has the two members. No runtime
// is needed; within one, a fiber that resumes such an object until it is done makes it a fiber.
#pragma once

#include <concepts>
#include <memory>
#include <type_traits>

namespace weft {

/// `resume()` runs it to its next pause or to its end; `done()` says whether it has ended, and then it is not resumed again.
template <class T>
concept resumable = requires(T& object, T const& seen) {
    object.resume();
    { seen.done() } -> std::convertible_to<bool>;
};

/// Any of them, for a queue in which they are mixed: two pointers, and a resumable itself. The object must outlive it.
class resumable_ref {
public:
    template <resumable T>
        requires(!std::same_as<std::remove_const_t<T>, resumable_ref>)
    resumable_ref(T& object) noexcept  // NOLINT(google-explicit-constructor): a reference, as std::ref makes it
        : object_(const_cast<std::remove_const_t<T>*>(std::addressof(object))), acts_(&acts_of<T>) {}

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
