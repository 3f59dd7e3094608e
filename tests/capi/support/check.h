/* check.h - a small harness for the tests of the C ABI, which compile as C99 and as C++17.
 *
 *     TEST(name) { ... }           runs on the main thread; the test makes its own runtimes
 *     FIBER_TEST(name) { ... }     runs on a fiber of `rt`, which has two workers
 *     ANYWHERE_TEST(name) { ... }  runs on such a fiber, and then on the main thread beside `rt`
 *     HELPER(name) { ... }         runs only when the program is started with this name: check_dies()
 *
 * A check that does not hold ends the program with exit code 1. Include this file first.
 */
#ifndef WEFT_TESTS_CAPI_CHECK_H
#define WEFT_TESTS_CAPI_CHECK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/c.h>

#if defined(__SANITIZE_THREAD__)
#define UNDER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNDER_TSAN 1
#endif
#endif
#ifndef UNDER_TSAN
#define UNDER_TSAN 0
#endif
#if defined(__SANITIZE_ADDRESS__)
#define UNDER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNDER_ASAN 1
#endif
#endif
#ifndef UNDER_ASAN
#define UNDER_ASAN 0
#endif
/* n, or a tenth of it where each access is checked. */
#define SCALED(n) ((UNDER_TSAN || UNDER_ASAN) ? (n) / 10 : (n))

#define MICROSECOND ((int64_t)1000)
#define MILLISECOND ((int64_t)1000000)
#define SECOND ((int64_t)1000000000)
/* Longer than a test takes on any machine: a wait that is not ended makes the test run into its limit. */
#define HOURS ((int64_t)3600 * SECOND)

#ifdef __cplusplus
extern "C" {
#endif

enum check_place { CHECK_ON_THREAD, CHECK_ON_FIBER, CHECK_ANYWHERE, CHECK_AS_HELPER };
struct check_entry {
    const char* name;
    void (*run)(void);
    enum check_place place;
    struct check_entry* next;
};
void check_register(struct check_entry* entry);

#define CHECK_DEFINE(name, place)                                                                                                \
    static void test_##name(void);                                                                                               \
    static struct check_entry entry_of_##name = {#name, test_##name, place, NULL};                                               \
    __attribute__((constructor)) static void register_##name(void) { check_register(&entry_of_##name); }                         \
    static void test_##name(void)
#define TEST(name) CHECK_DEFINE(name, CHECK_ON_THREAD)
#define FIBER_TEST(name) CHECK_DEFINE(name, CHECK_ON_FIBER)
#define ANYWHERE_TEST(name) CHECK_DEFINE(name, CHECK_ANYWHERE)
#define HELPER(name) CHECK_DEFINE(name, CHECK_AS_HELPER)

/* Of FIBER_TEST and ANYWHERE_TEST. */
extern weft_runtime* rt;

#define CHECK(x) check_holds((x) ? 1 : 0, #x, __FILE__, __LINE__)
#define CHECK_EQ(a, b) check_equal((int64_t)(a), (int64_t)(b), #a, #b, __FILE__, __LINE__)
#define CHECK_STATUS(call, expected) check_status((call), (expected), #call, __FILE__, __LINE__)
/* That `text` contains `part`. */
#define CHECK_CONTAINS(text, part) check_contains((text), (part), #text, __FILE__, __LINE__)
/* For a status that does not matter. */
#define IGNORE(call) check_ignore((call))
/* Waits for what another thread or fiber brings about without an event of its own. No stop ends it. */
#define UNTIL(x)                                                                                                                 \
    do {                                                                                                                         \
        const int64_t until_ = check_now() + 60 * SECOND;                                                                        \
        while (!(x)) {                                                                                                           \
            check_holds(check_now() < until_, "in time: " #x, __FILE__, __LINE__);                                               \
            check_pause();                                                                                                       \
        }                                                                                                                        \
    } while (0)

void check_holds(int holds, const char* what, const char* file, int line);
void check_equal(int64_t a, int64_t b, const char* first, const char* second, const char* file, int line);
void check_status(weft_status s, weft_status expected, const char* call, const char* file, int line);
void check_contains(const char* text, const char* part, const char* what, const char* file, int line);
void check_ignore(weft_status s);
int64_t check_now(void);
/* Sleeps for a moment, on a fiber under a shield. */
void check_pause(void);
/* Whether that fiber waits now, and for that reason (null: for any). */
bool check_waits(uint64_t fiber, const char* reason);
/* Starts this program once more, with the name of a HELPER. It must be ended by abort() after it has
 * written a line with `words` to stderr. */
void check_dies(const char* helper, const char* words);
/* Starts it once more; it must end with code 0. What it wrote to stderr is in `text`. */
void check_runs(const char* helper, char* text, size_t n);
/* With so many workers and the defaults for all else. */
weft_runtime* check_make_runtime(unsigned workers);
/* weft_spawn() with default attributes, which must succeed. */
weft_fiber* check_spawn(weft_runtime* where, weft_body f, void* arg);
/* weft_join() without a limit, which must succeed. */
int check_join(weft_fiber* f);
/* The thread that calls. A compiler may call pthread_self() once for a whole function, in which a fiber
   may move. */
pthread_t check_thread(void);
int check_threads(void);
int check_descriptors(void);

/* Counts that several threads share. */
static inline int get_of(int* n) { return __atomic_load_n(n, __ATOMIC_SEQ_CST); }
static inline void set_to(int* n, int v) { __atomic_store_n(n, v, __ATOMIC_SEQ_CST); }
static inline int add_to(int* n, int v) { return __atomic_add_fetch(n, v, __ATOMIC_SEQ_CST); }

#ifdef __cplusplus
}
#endif
#endif
