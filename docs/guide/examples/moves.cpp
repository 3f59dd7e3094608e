// moves.cpp - a fiber that changes its thread at every park: what follows it, what does not, and how to read errno.
#include <weft/weft.hpp>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iostream>

thread_local int of_the_thread = 0;
weft::fiber_local<int> of_the_fiber;

// The system call and the look at errno stand in a function that does not park; noinline keeps it one.
[[gnu::noinline]] int error_of_close(int fd) { return ::close(fd) == 0 ? 0 : errno; }

// So does every use of a thread_local.
[[gnu::noinline]] int count_on_this_thread() {
    asm volatile("");
    return ++of_the_thread;
}

int main() {
    weft::run(
        [] {
            int moved = 0, most = 0, wrong = 0;
            for (int i = 0; i < 100; ++i) {
                const auto before = ::gettid();
                weft::this_fiber::yield();
                if (::gettid() != before) ++moved;
                ++*of_the_fiber;
                most = std::max(most, count_on_this_thread());
                if (error_of_close(-1) != EBADF) ++wrong;
            }
            std::cout << "moved " << moved << " times, errno was wrong " << wrong << " times\n"
                      << "the fiber_local has counted " << *of_the_fiber << ", no thread_local more than " << most << '\n';
        },
        {.workers = 2, .time_slice = std::chrono::nanoseconds(0), .migration = weft::migration_policy::torture});
}
