// never_destroyed.hpp - a static object without a destructor call, usable while static objects end.
//
// The object lies in the library's own memory, and goes when the library is closed. What it owns
// does not go with it. Code that keeps memory in it frees that in a function with
// [[gnu::destructor(after_static_objects)]], if the memory is not used any more and
// library_is_closed() is true.
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
