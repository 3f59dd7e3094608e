// never_destroyed.hpp - a static object without an end, so that whoever is left when static objects end may still use it.
//
// It lies in the library's own memory and goes with it when that is closed. What it owns does not: who keeps memory in it gives that back
// in a function with [[gnu::destructor(after_static_objects)]], if nobody uses it any more and library_is_closed().
#pragma once

#include <cstddef>
#include <new>

namespace weft::detail {

template <class T>
class never_destroyed {
public:
    never_destroyed() : object_(::new (room_) T()) {}
    never_destroyed(const never_destroyed&) = delete;
    never_destroyed& operator=(const never_destroyed&) = delete;

    T& operator*() noexcept { return *object_; }

private:
    alignas(T) std::byte room_[sizeof(T)];
    T* const object_;
};

}  // namespace weft::detail
