/* channel_test.c - channels of each size and capacity: all elements arrive once, in order, byte by byte. */
#include "support/check.h"

#include <pthread.h>

static const size_t sizes[] = {1, 2, 3, 8, 16, 63, 64, 65, 4096, 65536};
static const size_t capacities[] = {0, 1, 3, 1000, SIZE_MAX};
enum { SIZES = sizeof sizes / sizeof *sizes, CAPACITIES = sizeof capacities / sizeof *capacities };

/* Contents by which each byte of each element of a sequence is known. */
static void fill(unsigned char* element, size_t n, unsigned number) {
    size_t i;
    for (i = 0; i < n; ++i) element[i] = (unsigned char)((number * 31u + (unsigned)i * 7u + (unsigned)(i >> 8)) & 0xffu);
}

static bool is(const unsigned char* element, size_t n, unsigned number) {
    size_t i;
    for (i = 0; i < n; ++i)
        if (element[i] != (unsigned char)((number * 31u + (unsigned)i * 7u + (unsigned)(i >> 8)) & 0xffu)) return false;
    return true;
}

static weft_channel* make(size_t element_bytes, size_t capacity) {
    weft_channel* ch = NULL;
    CHECK_STATUS(weft_channel_create(element_bytes, capacity, NULL, NULL, &ch), WEFT_OK);
    CHECK(ch != NULL);
    return ch;
}

enum { ELEMENTS = 40 };

static int sends_all(void* arg) {
    weft_channel* const ch = (weft_channel*)arg;
    const size_t n = weft_channel_element_bytes(ch);
    unsigned char* const element = (unsigned char*)malloc(n);
    unsigned i;
    CHECK(element != NULL);
    for (i = 0; i < ELEMENTS; ++i) {
        fill(element, n, i);
        CHECK_STATUS(weft_send(ch, element, i % 2 == 0 ? WEFT_FOREVER : HOURS), WEFT_OK);
        memset(element, 0xee, n); /* it was copied */
    }
    free(element);
    weft_close(ch);
    return 0;
}

static void receive_all(weft_channel* ch) {
    const size_t n = weft_channel_element_bytes(ch);
    /* One byte more at each end, which no receive writes. */
    unsigned char* const memory = (unsigned char*)malloc(n + 2);
    unsigned i;
    CHECK(memory != NULL);
    memset(memory, 0xaa, n + 2);
    for (i = 0; i < ELEMENTS; ++i) {
        CHECK_STATUS(weft_receive(ch, memory + 1, i % 2 == 0 ? HOURS : WEFT_FOREVER), WEFT_OK);
        CHECK(is(memory + 1, n, i));
        CHECK_EQ(memory[0], 0xaa);
        CHECK_EQ(memory[n + 1], 0xaa);
    }
    CHECK_STATUS(weft_receive(ch, memory + 1, WEFT_FOREVER), WEFT_CLOSED);
    CHECK(is(memory + 1, n, ELEMENTS - 1)); /* written only with WEFT_OK */
    free(memory);
}

ANYWHERE_TEST(each_size_and_capacity_delivers_all_in_order) {
    size_t i;
    size_t k;
    for (i = 0; i < SIZES; ++i)
        for (k = 0; k < CAPACITIES; ++k) {
            weft_channel* const ch = make(sizes[i], capacities[k]);
            weft_fiber* f;
            CHECK_EQ(weft_channel_element_bytes(ch), sizes[i]);
            CHECK(weft_channel_capacity(ch) == capacities[k]);
            CHECK_EQ(weft_channel_size(ch), 0);
            CHECK(!weft_channel_is_closed(ch));
            f = check_spawn(rt, sends_all, ch);
            receive_all(ch);
            CHECK_EQ(check_join(f), 0);
            CHECK(weft_channel_is_closed(ch));
            weft_channel_release(ch);
        }
}

static void* sends_from_a_thread(void* ch) {
    CHECK_EQ(sends_all(ch), 0);
    return NULL;
}

static int receives_all(void* ch) {
    receive_all((weft_channel*)ch);
    return 0;
}

TEST(threads_and_fibers_share_a_channel) {
    size_t i;
    size_t k;
    weft_runtime* const r = check_make_runtime(1);
    for (i = 0; i < SIZES; i += 3)
        for (k = 0; k < CAPACITIES; ++k) {
            weft_channel* const ch = make(sizes[i], capacities[k]);
            weft_fiber* const f = check_spawn(r, receives_all, ch);
            pthread_t t;
            CHECK(pthread_create(&t, NULL, sends_from_a_thread, ch) == 0);
            CHECK_EQ(check_join(f), 0);
            CHECK(pthread_join(t, NULL) == 0);
            weft_channel_release(ch);
        }
    weft_runtime_destroy(r);
}

TEST(threads_without_a_runtime_share_a_channel) {
    weft_channel* const ch = make(8, 1);
    pthread_t t;
    CHECK(pthread_create(&t, NULL, sends_from_a_thread, ch) == 0);
    receive_all(ch);
    CHECK(pthread_join(t, NULL) == 0);
    weft_channel_release(ch);
}

ANYWHERE_TEST(a_full_or_empty_channel_is_busy_or_times_out) {
    size_t k;
    for (k = 0; k < CAPACITIES; ++k) {
        weft_channel* const ch = make(4, capacities[k]);
        int32_t v = 7;
        int32_t i;
        CHECK_STATUS(weft_receive(ch, &v, 0), WEFT_BUSY);
        CHECK_STATUS(weft_receive(ch, &v, -5), WEFT_BUSY);
        CHECK_STATUS(weft_receive(ch, &v, 100 * MICROSECOND), WEFT_TIMEDOUT);
        CHECK_EQ(v, 7);
        if (capacities[k] <= 1000) {
            for (i = 0; i < (int32_t)capacities[k]; ++i) CHECK_STATUS(weft_send(ch, &i, 0), WEFT_OK);
            CHECK_STATUS(weft_send(ch, &v, 0), WEFT_BUSY);
            CHECK_STATUS(weft_send(ch, &v, INT64_MIN), WEFT_BUSY);
            CHECK_STATUS(weft_send(ch, &v, 100 * MICROSECOND), WEFT_TIMEDOUT);
            CHECK_EQ(weft_channel_size(ch), capacities[k]);
            for (i = 0; i < (int32_t)capacities[k]; ++i) {
                CHECK_STATUS(weft_receive(ch, &v, 0), WEFT_OK);
                CHECK_EQ(v, i); /* what was busy or late has not been sent */
            }
            CHECK_STATUS(weft_receive(ch, &v, 0), WEFT_BUSY);
        } else {
            for (i = 0; i < 5000; ++i) CHECK_STATUS(weft_send(ch, &i, 0), WEFT_OK);
            CHECK_EQ(weft_channel_size(ch), 5000);
            for (i = 0; i < 5000; ++i) {
                CHECK_STATUS(weft_receive(ch, &v, 0), WEFT_OK);
                CHECK_EQ(v, i);
            }
        }
        weft_channel_release(ch);
    }
}

ANYWHERE_TEST(what_is_stored_can_be_received_after_close) {
    weft_channel* const ch = make(4, 10);
    int32_t v;
    for (v = 0; v < 3; ++v) CHECK_STATUS(weft_send(ch, &v, WEFT_FOREVER), WEFT_OK);
    weft_close(ch);
    weft_close(ch);
    CHECK(weft_channel_is_closed(ch));
    v = 100;
    CHECK_STATUS(weft_send(ch, &v, WEFT_FOREVER), WEFT_CLOSED);
    CHECK_STATUS(weft_send(ch, &v, 0), WEFT_CLOSED);
    CHECK_EQ(weft_channel_size(ch), 3);
    {
        int32_t i;
        for (i = 0; i < 3; ++i) {
            CHECK_STATUS(weft_receive(ch, &v, WEFT_FOREVER), WEFT_OK);
            CHECK_EQ(v, i);
        }
    }
    CHECK_STATUS(weft_receive(ch, &v, WEFT_FOREVER), WEFT_CLOSED);
    CHECK_STATUS(weft_receive(ch, &v, 0), WEFT_CLOSED);
    CHECK_STATUS(weft_receive(ch, &v, MILLISECOND), WEFT_CLOSED);
    weft_channel_release(ch);
}

static int receives_until_the_end(void* ch) {
    int32_t v = 0;
    return weft_receive((weft_channel*)ch, &v, WEFT_FOREVER);
}

static int sends_until_the_end(void* ch) {
    const int32_t v = 5;
    return weft_send((weft_channel*)ch, &v, WEFT_FOREVER);
}

ANYWHERE_TEST(close_wakes_all_that_wait) {
    size_t capacity;
    for (capacity = 0; capacity <= 1; ++capacity) {
        weft_channel* const empty = make(4, capacity);
        weft_channel* const full = make(4, capacity);
        weft_fiber* f[6];
        int32_t v = 9;
        int i;
        if (capacity == 1) CHECK_STATUS(weft_send(full, &v, 0), WEFT_OK);
        for (i = 0; i < 3; ++i) f[i] = check_spawn(rt, receives_until_the_end, empty);
        for (i = 3; i < 6; ++i) f[i] = check_spawn(rt, sends_until_the_end, full);
        for (i = 0; i < 6; ++i) UNTIL(check_waits(weft_fiber_id(f[i]), NULL));
        weft_close(empty);
        weft_close(full);
        for (i = 0; i < 6; ++i) CHECK_EQ(check_join(f[i]), WEFT_CLOSED);
        v = 0;
        CHECK_STATUS(weft_receive(full, &v, 0), capacity == 1 ? WEFT_OK : WEFT_CLOSED);
        CHECK_STATUS(weft_receive(full, &v, 0), WEFT_CLOSED);
        weft_channel_release(empty);
        weft_channel_release(full);
    }
}

/* ---- drop -------------------------------------------------------------------------------------- */

enum { MOST = 64 };
struct dropped {
    size_t element_bytes;
    int n;
    bool seen[MOST];
};

static void counts_dropped(void* user, void* element) {
    struct dropped* const d = (struct dropped*)user;
    unsigned i;
    for (i = 0; i < MOST; ++i)
        if (!d->seen[i] && is((const unsigned char*)element, d->element_bytes, i)) {
            d->seen[i] = true;
            ++d->n;
            return;
        }
    CHECK(i < MOST); /* it was not sent, or not only once */
}

ANYWHERE_TEST(drop_is_called_for_exactly_what_is_left) {
    static unsigned char element[65536];
    const size_t of[] = {3, 1000, SIZE_MAX};
    size_t i;
    size_t k;
    for (i = 2; i < SIZES; ++i) /* elements of 1 and 2 bytes do not tell 64 apart */
        for (k = 0; k < 3; ++k) {
            struct dropped d;
            weft_channel* ch = NULL;
            const unsigned stored = of[k] == 3 ? 3 : 20;
            const unsigned taken = of[k] == 3 ? 1 : 13;
            unsigned e;
            memset(&d, 0, sizeof d);
            d.element_bytes = sizes[i];
            CHECK_STATUS(weft_channel_create(sizes[i], of[k], counts_dropped, &d, &ch), WEFT_OK);
            for (e = 0; e < stored; ++e) {
                fill(element, sizes[i], e);
                CHECK_STATUS(weft_send(ch, element, 0), WEFT_OK);
            }
            for (e = 0; e < taken; ++e) {
                CHECK_STATUS(weft_receive(ch, element, 0), WEFT_OK);
                CHECK(is(element, sizes[i], e));
            }
            if (i % 2 == 0) weft_close(ch);
            CHECK_EQ(d.n, 0);
            weft_channel_release(ch);
            CHECK_EQ(d.n, stored - taken);
            for (e = 0; e < stored; ++e) CHECK_EQ(d.seen[e], e >= taken);
        }
}

ANYWHERE_TEST(drop_is_not_called_for_what_was_never_sent) {
    struct dropped d;
    weft_channel* ch = NULL;
    uint64_t v = 1;
    memset(&d, 0, sizeof d);
    d.element_bytes = sizeof v;
    CHECK_STATUS(weft_channel_create(sizeof v, 0, counts_dropped, &d, &ch), WEFT_OK);
    CHECK_STATUS(weft_send(ch, &v, 0), WEFT_BUSY);
    CHECK_STATUS(weft_send(ch, &v, MICROSECOND), WEFT_TIMEDOUT);
    weft_close(ch);
    CHECK_STATUS(weft_send(ch, &v, MICROSECOND), WEFT_CLOSED);
    weft_channel_release(ch);
    CHECK_EQ(d.n, 0);
}

ANYWHERE_TEST(a_retained_channel_lives_until_its_last_release) {
    struct dropped d;
    weft_channel* ch = NULL;
    unsigned char v[8];
    memset(&d, 0, sizeof d);
    d.element_bytes = sizeof v;
    CHECK_STATUS(weft_channel_create(sizeof v, 4, counts_dropped, &d, &ch), WEFT_OK);
    CHECK(weft_channel_retain(ch) == ch);
    CHECK(weft_channel_retain(ch) == ch);
    fill(v, sizeof v, 5);
    CHECK_STATUS(weft_send(ch, v, 0), WEFT_OK);
    weft_channel_release(ch);
    CHECK_EQ(d.n, 0);
    CHECK_EQ(weft_channel_size(ch), 1);
    weft_channel_release(ch);
    CHECK_EQ(d.n, 0);
    CHECK(!weft_channel_is_closed(ch));
    weft_channel_release(ch);
    CHECK_EQ(d.n, 1);
    CHECK(d.seen[5]);
}

/* ---- several senders and receivers --------------------------------------------------------------- */

enum { PARTIES = 4, EACH = 500 };

static int sends_numbers(void* arg) {
    weft_channel* const ch = (weft_channel*)arg;
    int32_t i;
    for (i = 1; i <= EACH; ++i) CHECK_STATUS(weft_send(ch, &i, WEFT_FOREVER), WEFT_OK);
    return 0;
}

struct summer {
    weft_channel* ch;
    int64_t sum;
    int n;
};

static int sums(void* arg) {
    struct summer* const s = (struct summer*)arg;
    int32_t v = 0;
    weft_status got;
    while ((got = weft_receive(s->ch, &v, WEFT_FOREVER)) == WEFT_OK) {
        s->sum += v;
        ++s->n;
    }
    CHECK_STATUS(got, WEFT_CLOSED);
    return 0;
}

ANYWHERE_TEST(each_element_goes_to_one_receiver) {
    size_t k;
    for (k = 0; k < CAPACITIES; ++k) {
        weft_channel* const ch = make(4, capacities[k]);
        struct summer s[PARTIES];
        weft_fiber* senders[PARTIES];
        weft_fiber* receivers[PARTIES];
        int64_t sum = 0;
        int n = 0;
        int i;
        for (i = 0; i < PARTIES; ++i) {
            s[i].ch = ch;
            s[i].sum = 0;
            s[i].n = 0;
            receivers[i] = check_spawn(rt, sums, &s[i]);
            senders[i] = check_spawn(rt, sends_numbers, ch);
        }
        for (i = 0; i < PARTIES; ++i) CHECK_EQ(check_join(senders[i]), 0);
        weft_close(ch);
        for (i = 0; i < PARTIES; ++i) {
            CHECK_EQ(check_join(receivers[i]), 0);
            sum += s[i].sum;
            n += s[i].n;
        }
        CHECK_EQ(n, PARTIES * EACH);
        CHECK_EQ(sum, (int64_t)PARTIES * EACH * (EACH + 1) / 2);
        weft_channel_release(ch);
    }
}

TEST(a_channel_of_no_size_or_of_too_large_elements_is_refused) {
    const size_t bad[] = {0, 65537, SIZE_MAX, SIZE_MAX / 2, (size_t)1 << 32};
    size_t i;
    for (i = 0; i < sizeof bad / sizeof *bad; ++i) {
        weft_channel* ch = NULL;
        CHECK_STATUS(weft_channel_create(bad[i], 1, NULL, NULL, &ch), WEFT_EINVAL);
        CHECK(ch == NULL);
        CHECK(strlen(weft_error()) > 0);
    }
}

TEST(a_channel_of_huge_capacity_is_made_or_refused) {
    /* Nobody has so much memory, but nothing is stored yet; neither answer may crash. */
    const size_t large[] = {SIZE_MAX - 1, SIZE_MAX / 2, (size_t)1 << 48};
    size_t i;
    for (i = 0; i < 3; ++i) {
        weft_channel* ch = NULL;
        const weft_status s = weft_channel_create(65536, large[i], NULL, NULL, &ch);
        CHECK(s == WEFT_OK || s == WEFT_EINVAL || s == WEFT_ENOMEM);
        CHECK((s == WEFT_OK) == (ch != NULL));
        if (s == WEFT_OK) {
            static unsigned char v[65536];
            CHECK_STATUS(weft_send(ch, v, 0), WEFT_OK);
            CHECK_STATUS(weft_receive(ch, v, 0), WEFT_OK);
        }
        weft_channel_release(ch);
    }
}
