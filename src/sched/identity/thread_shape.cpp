#include "sched/identity/thread_shape.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bitset>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>

#include "stack/stack_pool.hpp"

namespace weft::detail {
namespace {

// Above the block of a thread of any C library that weft knows.
constexpr std::size_t words_of_block = 1024;
// Upper halves of pointers in a block are small numbers, too, so that one thread may show more than one place.
constexpr int most_looks = 32;
// Where the C library and a signal handler still have room beside the look itself.
constexpr std::size_t bytes_for_a_look = std::size_t{64} << 10;
// The C library puts the program's thread_local objects on the stack, too.
constexpr std::size_t most_bytes = std::size_t{64} << 20;

struct look {
    stack* home = nullptr;
    std::bitset<words_of_block> places;  // of words that hold the number of the thread
    std::size_t taken_bytes = 0;
};

void* look_at_own_block(void* result) noexcept {
    auto& mine = *static_cast<look*>(result);
    const auto number = static_cast<std::uint32_t>(::syscall(SYS_gettid));
    const auto* const block = reinterpret_cast<const std::byte*>(pthread_self());
    const auto* const here = static_cast<const std::byte*>(__builtin_frame_address(0));
    const auto& span = mine.home->span;
    if (block < here || block >= span.high) return nullptr;
    mine.taken_bytes = static_cast<std::size_t>(span.high - here);
    const auto words = std::min(words_of_block, static_cast<std::size_t>(span.high - block) / sizeof number);
    for (std::size_t i = 0; i < words; ++i) mine.places[i] = std::memcmp(block + i * sizeof number, &number, sizeof number) == 0;
    return nullptr;
}

/// Attributes of a thread that uses `span` as its stack.
class thread_attributes {
public:
    explicit thread_attributes(stack_span span) noexcept {
        pthread_attr_init(&its_);
        error = pthread_attr_setstack(&its_, span.low, static_cast<std::size_t>(span.high - span.low));
    }
    ~thread_attributes() { pthread_attr_destroy(&its_); }
    thread_attributes(const thread_attributes&) = delete;
    thread_attributes& operator=(const thread_attributes&) = delete;

    const pthread_attr_t* get() const noexcept { return &its_; }
    int error;

private:
    pthread_attr_t its_;
};

}  // namespace

stack* start_thread_on(stack_pool& stacks, std::size_t bytes, stack*& home, pthread_t& thread, void* (*begin)(void*),
                       void* argument) {
    int error = EINVAL;
    for (; error == EINVAL && bytes <= most_bytes; bytes *= 2) {
        home = stacks.take(bytes);
        if (!home) throw std::bad_alloc();
        const thread_attributes attributes(home->span);
        error = attributes.error ? attributes.error : pthread_create(&thread, attributes.get(), begin, argument);
        if (error != 0) stacks.give(std::exchange(home, nullptr));
    }
    if (error != 0) throw std::system_error(error, std::system_category(), "weft: no thread for an identity (as_thread)");
    return home;
}

thread_shape find_thread_shape(stack_pool& stacks) {
    thread_shape found;
    std::bitset<words_of_block> places;
    places.set();
    for (int looks = 0; looks < most_looks && places.count() > 0; ++looks) {
        look one;
        pthread_t thread{};
        start_thread_on(stacks, bytes_for_a_look, one.home, thread, look_at_own_block, &one);
        pthread_join(thread, nullptr);
        stacks.give(one.home);
        places &= one.places;
        found.taken_bytes = one.taken_bytes;
        if (looks > 0 && places.count() == 1) {  // one thread alone may have the number elsewhere by chance
            found.number_at = places._Find_first() * sizeof(std::uint32_t);
            return found;
        }
    }
    return found;
}

}  // namespace weft::detail
