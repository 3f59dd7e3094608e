// coroutine_slot.cpp - a slot for each OS thread, and the function that finds the caller's slot.
#include "arch/coroutine_slot.hpp"

#include "base/atomic.hpp"

namespace weft::detail {
namespace {

constinit thread_local coroutine_slot slot_of_thread;
constinit atomic<coroutine_slot_finder> finder_in_use{&thread_coroutine_slot};

}  // namespace

// Not inlined, so that no caller keeps the address across a switch to another OS thread.
[[gnu::noinline]] coroutine_slot& thread_coroutine_slot() noexcept {
    asm volatile("" : : : "memory");
    return slot_of_thread;
}

coroutine_slot& current_coroutine() noexcept {
    // pairs with the release in set_coroutine_slot_finder()
    return finder_in_use.load(acquire)();
}

coroutine_slot_finder set_coroutine_slot_finder(coroutine_slot_finder finder) noexcept {
    // pairs with the acquire in current_coroutine()
    return finder_in_use.exchange(finder, acq_rel);
}

}  // namespace weft::detail
