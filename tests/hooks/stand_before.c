/* stand_before.c - each function passes its arguments on, whatever they are: as many as the longest has, in registers and above.
 *
 * A program that is linked with it has these names first, so the loader binds the calls of all libraries to them. */
#define _GNU_SOURCE
#include "hooks/stand_before.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

int (*volatile is_in_a_visit)(void);

enum { places = 4096 }; /* chosen: the program has some hundred */

static struct {
    _Atomic(void*) from;
    _Atomic(const char*) function;
    atomic_uint in_a_visit;
} table[places];

static void note(const char* function, void* from) {
    for (size_t i = (uintptr_t)from / 4 % places, n = 0; n < places; ++n, i = (i + 1) % places) {
        void* there = NULL;
        if (atomic_load(&table[i].from) != from && !atomic_compare_exchange_strong(&table[i].from, &there, from) && there != from) continue;
        atomic_store(&table[i].function, function);
        if (is_in_a_visit && is_in_a_visit()) atomic_fetch_add(&table[i].in_a_visit, 1);
        return;
    }
    abort(); /* the table is full */
}

size_t noted_calls(struct noted_call* into, size_t room) {
    size_t n = 0;
    for (size_t i = 0; i < places; ++i) {
        const char* const function = atomic_load(&table[i].function);
        if (!function) continue;
        if (n < room) {
            into[n].function = function;
            into[n].from = atomic_load(&table[i].from);
            into[n].in_a_visit = atomic_load(&table[i].in_a_visit);
        }
        ++n;
    }
    return n;
}

typedef long (*passed_on)(long, long, long, long, long, long, long, long);

/* Of the condition variables a library of x86-64 has older ones under the same names. */
static passed_on next_of(const char* function, _Atomic(passed_on)* kept) {
    passed_on next = atomic_load(kept);
    if (next) return next;
    void* found = dlvsym(RTLD_NEXT, function, "GLIBC_2.3.2");
    if (!found) found = dlsym(RTLD_NEXT, function);
    if (!found) abort();
    next = (passed_on)(uintptr_t)found;
    atomic_store(kept, next);
    return next;
}

/* The name is that of the symbol only, so no declaration of a header is in the way. */
#define STANDS_BEFORE(function)                                                                                 \
    long stands_before_##function(long, long, long, long, long, long, long, long) __asm__(#function);           \
    long stands_before_##function(long a, long b, long c, long d, long e, long f, long g, long h) {             \
        static _Atomic(passed_on) next;                                                                         \
        note(#function, __builtin_return_address(0));                                                           \
        return next_of(#function, &next)(a, b, c, d, e, f, g, h);                                               \
    }

STANDS_BEFORE(read)
STANDS_BEFORE(readv)
STANDS_BEFORE(write)
STANDS_BEFORE(writev)
STANDS_BEFORE(__read_chk)
STANDS_BEFORE(send)
STANDS_BEFORE(sendto)
STANDS_BEFORE(sendmsg)
STANDS_BEFORE(sendmmsg)
STANDS_BEFORE(recv)
STANDS_BEFORE(recvfrom)
STANDS_BEFORE(recvmsg)
STANDS_BEFORE(recvmmsg)
STANDS_BEFORE(__recv_chk)
STANDS_BEFORE(__recvfrom_chk)
STANDS_BEFORE(connect)
STANDS_BEFORE(accept)
STANDS_BEFORE(accept4)
STANDS_BEFORE(poll)
STANDS_BEFORE(ppoll)
STANDS_BEFORE(__poll_chk)
STANDS_BEFORE(__ppoll_chk)
STANDS_BEFORE(select)
STANDS_BEFORE(pselect)
STANDS_BEFORE(epoll_wait)
STANDS_BEFORE(epoll_pwait)
STANDS_BEFORE(epoll_pwait2)
STANDS_BEFORE(sleep)
STANDS_BEFORE(usleep)
STANDS_BEFORE(nanosleep)
STANDS_BEFORE(clock_nanosleep)
STANDS_BEFORE(getaddrinfo)
STANDS_BEFORE(getnameinfo)
STANDS_BEFORE(gethostbyname)
STANDS_BEFORE(gethostbyname2)
STANDS_BEFORE(gethostbyaddr)
STANDS_BEFORE(gethostbyname_r)
STANDS_BEFORE(gethostbyname2_r)
STANDS_BEFORE(gethostbyaddr_r)
STANDS_BEFORE(pthread_mutex_lock)
STANDS_BEFORE(pthread_mutex_trylock)
STANDS_BEFORE(pthread_mutex_timedlock)
STANDS_BEFORE(pthread_mutex_clocklock)
STANDS_BEFORE(pthread_mutex_unlock)
STANDS_BEFORE(pthread_rwlock_rdlock)
STANDS_BEFORE(pthread_rwlock_tryrdlock)
STANDS_BEFORE(pthread_rwlock_timedrdlock)
STANDS_BEFORE(pthread_rwlock_wrlock)
STANDS_BEFORE(pthread_rwlock_trywrlock)
STANDS_BEFORE(pthread_rwlock_timedwrlock)
STANDS_BEFORE(pthread_rwlock_unlock)
STANDS_BEFORE(pthread_cond_wait)
STANDS_BEFORE(pthread_cond_timedwait)
STANDS_BEFORE(pthread_cond_clockwait)
STANDS_BEFORE(pthread_cond_signal)
STANDS_BEFORE(pthread_cond_broadcast)
STANDS_BEFORE(sem_wait)
STANDS_BEFORE(sem_timedwait)
STANDS_BEFORE(sem_trywait)
STANDS_BEFORE(sem_post)
STANDS_BEFORE(wait)
STANDS_BEFORE(waitpid)
STANDS_BEFORE(wait3)
STANDS_BEFORE(wait4)
STANDS_BEFORE(waitid)
STANDS_BEFORE(flock)
STANDS_BEFORE(fcntl)
STANDS_BEFORE(fcntl64)
STANDS_BEFORE(lockf)
STANDS_BEFORE(sendfile)
STANDS_BEFORE(splice)
STANDS_BEFORE(close)
STANDS_BEFORE(dup2)
STANDS_BEFORE(dup3)
STANDS_BEFORE(close_range)
STANDS_BEFORE(fork)
