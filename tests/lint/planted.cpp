// planted.cpp - bugs that weft-lint must find, and look-alikes that it must leave alone (seed R18). The prefix of a function says when:
//   planted_    in every build               optimized_   where the compiler keeps the address of errno: from -O2
//   innocent_   never                        shared_      from -O2 with -fPIC: where it keeps that of a thread_local, too
#include <cerrno>
#include <mutex>
#include <string>

#include <weft/channel.hpp>
#include <weft/mutex.hpp>
#include <weft/runtime.hpp>

#define KEEP extern "C" [[gnu::noinline, gnu::used]]

namespace {

thread_local int counter = 0;
thread_local std::string text = "begun on first use";
int for_all = 0;
weft::mutex shared_lock;

/// The same pointer, but the compiler does not know.
template <class T>
[[gnu::always_inline]] inline T* opaque(T* p) {
    asm volatile("" : "+r"(p));
    return p;
}

}  // namespace

int* published = nullptr;
extern "C" {
int may_fail(int);  // elsewhere
void may_throw();
}

KEEP int& counter_here() {
    asm volatile("");  // else callers may take its result for the same each time
    return counter;
}
KEEP void bump() { ++counter; }
KEEP void deeper() { const std::lock_guard hold(shared_lock); }
KEEP void deep() {
    deeper();
    ++for_all;
}
KEEP void parks_with(int* p) {
    weft::this_fiber::yield();
    ++*p;
}

// ---- bugs

KEEP void planted_pointer_kept() {
    int* const p = opaque(&counter);
    ++*p;
    weft::this_fiber::yield();
    ++*p;
}
KEEP int planted_through_a_helper() {
    int& c = counter_here();
    weft::this_fiber::yield();
    return ++c;
}
KEEP void planted_parks_deep_below() {
    int* const p = opaque(&counter);
    deep();
    ++*p;
}
KEEP int planted_in_a_handler() {
    int* const p = opaque(&counter);
    try {
        may_throw();
        return 0;
    } catch (...) {
        weft::this_fiber::yield();
        return ++*p;
    }
}
KEEP void planted_thrown_out_of_a_park(weft::channel<int>& c) {
    int* const p = opaque(&counter);
    try {
        c.send(1);
    } catch (...) {
        ++*p;
    }
}
KEEP void planted_handed_over() { parks_with(opaque(&counter)); }
KEEP int* planted_returned() {
    int* const p = opaque(&counter);
    weft::this_fiber::yield();
    return p;
}
KEEP void planted_stored() {
    int* const p = opaque(&counter);
    weft::this_fiber::yield();
    published = p;
}
KEEP void planted_on_one_path_only(int n) {
    int* p = &for_all;
    if (n > 3) p = opaque(&counter);
    for (int i = 0; i < n; ++i) {
        *p += may_fail(i);
        if (i == 7) weft::this_fiber::yield();
    }
}
KEEP int planted_in_a_case(int n) {
    int* const p = opaque(&counter);
    switch (n) {
        case 0: return may_fail(3);
        case 1: return may_fail(4) + 1;
        case 2: weft::this_fiber::yield(); break;
        case 3: may_fail(5); break;
        case 4: return may_fail(8) * 2;
        case 5: for_all = n; break;
        default: return 6;
    }
    return ++*p;
}
KEEP void planted_on_the_stack() {
    struct {
        int* a[3];
    } held{};
    held.a[1] = opaque(&counter);
    opaque(&held);
    weft::this_fiber::yield();
    ++*held.a[1];
}
KEEP void planted_object_with_a_constructor() {
    std::string* const p = opaque(&text);
    p->push_back('a');
    weft::this_fiber::yield();
    p->push_back('b');
}
KEEP int optimized_errno_in_a_loop() {
    int n = may_fail(0);
    while (n < 0 && errno == EAGAIN) {
        weft::this_fiber::yield();
        n = may_fail(0);
    }
    return n;
}
KEEP int optimized_errno_before_and_after() {
    errno = 0;
    deep();
    may_fail(1);
    return errno;
}
KEEP int shared_variable_twice() {
    counter = may_fail(1);
    weft::this_fiber::yield();
    return counter + may_fail(2);
}

// ---- look-alikes

KEEP void innocent_in_functions_of_its_own() {
    bump();
    weft::this_fiber::yield();
    bump();
}
KEEP int innocent_taken_again() {
    ++counter_here();
    weft::this_fiber::yield();
    return ++counter_here();
}
KEEP void innocent_before_only() {
    int* const p = opaque(&counter);
    ++*p;
    deep();
}
KEEP int innocent_after_only() {
    deep();
    int* const p = opaque(&counter);
    return ++*p;
}
KEEP int innocent_value_kept() {
    const int before = counter;
    weft::this_fiber::yield();
    return before + may_fail(before);
}
KEEP int innocent_errno_before_only() {
    const int error = may_fail(1) < 0 ? errno : 0;
    weft::this_fiber::yield();
    return error;
}
KEEP int innocent_without_a_park(int n) {
    int* const p = opaque(&counter);
    for (int i = 0; i < n; ++i) *p += may_fail(i);
    return errno + may_fail(*p);
}
KEEP int innocent_on_another_path(int n) {
    int* const p = opaque(&counter);
    if (n > 0) return ++*p;
    weft::this_fiber::yield();
    return may_fail(n);
}
KEEP int innocent_pointer_to_something_else() {
    int* p = opaque(&counter);
    ++*p;
    p = opaque(&for_all);
    weft::this_fiber::yield();
    return ++*p;
}
KEEP int innocent_calls_that_never_park(weft::channel<int>& c) {
    int* const p = opaque(&counter);
    *p += static_cast<int>(c.try_send(1)) + static_cast<int>(shared_lock.try_lock());
    if (weft::runtime::current() != nullptr) ++*p;
    return *p + static_cast<int>(weft::this_fiber::id() == weft::fiber_id());
}
KEEP int innocent_handler_without_a_park() {
    int* const p = opaque(&counter);
    try {
        may_throw();
    } catch (...) {
        ++*p;
    }
    return may_fail(0);
}
KEEP void innocent_array_on_the_stack() {
    char room[64];
    opaque(room)[0] = 'x';
    weft::this_fiber::yield();
    opaque(room)[1] = 'y';
}
