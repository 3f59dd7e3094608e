// planted.cpp - a library that does what weft's must not: both checks of tests/hooks have to find each of these calls.
#include "hooks/planted.hpp"

#include <unistd.h>

#include <mutex>

namespace planted {
namespace {

std::mutex lock;

// By its address, from a table.
int (*const volatile by_address)(int) = &::close;

}  // namespace

void call_what_is_interposed(int readable) {
    char one = 0;
    if (::read(readable, &one, 1) == 1) {
        const std::lock_guard guard(lock);
        ::usleep(1);
    }
    by_address(readable);
}

}  // namespace planted
