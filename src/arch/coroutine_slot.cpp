// coroutine_slot.cpp - a slot for each OS thread, and the one word that says who else has some.
#include "arch/coroutine_slot.hpp"

#include "base/atomic.hpp"

namespace weft::detail {
namespace {

constinit thread_local coroutine_slot slot_of_thread;
constinit atomic<coroutine_slot_finder> finder_in_use{&thread_coroutine_slot};

}  // namespace

// Not inlined, so that no caller keeps the address over a switch to another OS thread.
[[gnu::noinline]] coroutine_slot& thread_coroutine_slot() noexcept {
    asm volatile("" : : : "memory");
    return slot_of_thread;
}

coroutine_slot& current_coroutine() noexcept {
    return finder_in_use.load(acquire)();   // pairs with the release in set_coroutine_slot_finder()
}

coroutine_slot_finder set_coroutine_slot_finder(coroutine_slot_finder finder) noexcept {
    return finder_in_use.exchange(finder, acq_rel);   // pairs with the acquire above
}

}  // namespace weft::detail
