// thread_places.hpp - on how many OS threads something ran.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cstddef>
#include <mutex>
#include <set>

namespace weft::test {

/// Not inlined: a caller may be on another thread after a park.
class places {
public:
    [[gnu::noinline]] void note() {
        const std::lock_guard guard(lock_);
        seen_.insert(::gettid());
    }
    [[gnu::noinline]] std::size_t count() {
        const std::lock_guard guard(lock_);
        return seen_.size();
    }

private:
    std::mutex lock_;
    std::set<pid_t> seen_;
};

}  // namespace weft::test
