/* select_test.c - select: each kind of case, few and many of them, and which one is chosen. */
#include "support/check.h"

static weft_channel* make(size_t capacity) {
    weft_channel* ch = NULL;
    CHECK_STATUS(weft_channel_create(sizeof(int32_t), capacity, NULL, NULL, &ch), WEFT_OK);
    return ch;
}

static void put(weft_channel* ch, int32_t v) { CHECK_STATUS(weft_send(ch, &v, 0), WEFT_OK); }

ANYWHERE_TEST(the_ready_receive_is_chosen) {
    weft_channel* const a = make(1);
    weft_channel* const b = make(1);
    int32_t from_a = 0;
    int32_t from_b = 0;
    size_t chosen = 99;
    weft_case c[2];
    c[0] = weft_on_receive(a, &from_a);
    c[1] = weft_on_receive(b, &from_b);
    put(b, 7);
    CHECK_STATUS(weft_select(c, 2, &chosen), WEFT_OK);
    CHECK_EQ(chosen, 1);
    CHECK_STATUS(c[1].status, WEFT_OK);
    CHECK_EQ(from_b, 7);
    CHECK_EQ(from_a, 0);
    put(a, 8);
    CHECK_STATUS(weft_select(c, 2, &chosen), WEFT_OK);
    CHECK_EQ(chosen, 0);
    CHECK_EQ(from_a, 8);
    weft_channel_release(a);
    weft_channel_release(b);
}

ANYWHERE_TEST(the_ready_send_is_chosen) {
    weft_channel* const full = make(1);
    weft_channel* const room = make(1);
    int32_t v = 3;
    int32_t got = 0;
    size_t chosen = 99;
    weft_case c[2];
    put(full, 1);
    c[0] = weft_on_send(full, &v);
    c[1] = weft_on_send(room, &v);
    CHECK_STATUS(weft_select(c, 2, &chosen), WEFT_OK);
    CHECK_EQ(chosen, 1);
    CHECK_STATUS(c[1].status, WEFT_OK);
    CHECK_STATUS(weft_receive(room, &got, 0), WEFT_OK);
    CHECK_EQ(got, 3);
    CHECK_STATUS(weft_receive(full, &got, 0), WEFT_OK);
    CHECK_EQ(got, 1);
    CHECK_STATUS(weft_receive(full, &got, 0), WEFT_BUSY);
    weft_channel_release(full);
    weft_channel_release(room);
}

ANYWHERE_TEST(a_closed_channel_is_ready) {
    weft_channel* const open = make(0);
    weft_channel* const closed = make(1);
    int32_t v = 4;
    size_t chosen = 99;
    weft_case c[2];
    put(closed, 5);
    weft_close(closed);
    c[0] = weft_on_receive(open, &v);
    c[1] = weft_on_receive(closed, &v);
    CHECK_STATUS(weft_select(c, 2, &chosen), WEFT_OK);
    CHECK_EQ(chosen, 1);
    CHECK_STATUS(c[1].status, WEFT_OK); /* it is drained first */
    CHECK_EQ(v, 5);
    CHECK_STATUS(weft_select(c, 2, &chosen), WEFT_OK);
    CHECK_EQ(chosen, 1);
    CHECK_STATUS(c[1].status, WEFT_CLOSED);
    CHECK_EQ(v, 5);
    c[1] = weft_on_send(closed, &v);
    CHECK_STATUS(weft_select(c, 2, &chosen), WEFT_OK);
    CHECK_EQ(chosen, 1);
    CHECK_STATUS(c[1].status, WEFT_CLOSED);
    weft_channel_release(open);
    weft_channel_release(closed);
}

ANYWHERE_TEST(otherwise_is_chosen_if_nothing_is_ready) {
    weft_channel* const ch = make(1);
    int32_t v = 0;
    size_t chosen = 99;
    weft_case c[2];
    c[0] = weft_otherwise();
    c[1] = weft_on_receive(ch, &v);
    CHECK_STATUS(weft_select(c, 2, &chosen), WEFT_OK);
    CHECK_EQ(chosen, 0);
    CHECK_STATUS(c[0].status, WEFT_OK);
    put(ch, 6);
    CHECK_STATUS(weft_select(c, 2, &chosen), WEFT_OK);
    CHECK_EQ(chosen, 1);
    CHECK_EQ(v, 6);
    CHECK_STATUS(weft_select(c, 1, &chosen), WEFT_OK);
    CHECK_EQ(chosen, 0);
    weft_channel_release(ch);
}

ANYWHERE_TEST(a_timeout_is_a_case) {
    weft_channel* const ch = make(0);
    int32_t v = 0;
    size_t chosen = 99;
    const int64_t times[] = {0, -1, INT64_MIN, 1, MILLISECOND};
    size_t i;
    for (i = 0; i < sizeof times / sizeof *times; ++i) {
        weft_case c[3];
        c[0] = weft_on_receive(ch, &v);
        c[1] = weft_on_timeout(times[i]);
        c[2] = weft_on_timeout(HOURS);
        CHECK_STATUS(weft_select(c, 3, &chosen), WEFT_OK);
        CHECK_EQ(chosen, 1);
        CHECK_STATUS(c[1].status, WEFT_OK);
        CHECK_STATUS(weft_select(&c[1], 1, &chosen), WEFT_OK);
        CHECK_EQ(chosen, 0);
    }
    weft_channel_release(ch);
}

static int returns_5(void* unused) {
    (void)unused;
    return 5;
}

static int waits_for(void* event) { return weft_event_wait((weft_event*)event, WEFT_FOREVER); }

ANYWHERE_TEST(the_end_of_a_fiber_is_a_case) {
    weft_event e = WEFT_ZERO_INIT;
    weft_fiber* const waiting = check_spawn(rt, waits_for, &e);
    weft_fiber* const ending = check_spawn(rt, returns_5, NULL);
    size_t chosen = 99;
    weft_case c[2];
    c[0] = weft_on_join(waiting);
    c[1] = weft_on_join(ending);
    CHECK_STATUS(weft_select(c, 2, &chosen), WEFT_OK);
    CHECK_EQ(chosen, 1);
    CHECK_STATUS(c[1].status, WEFT_OK);
    CHECK(weft_is_done(ending));
    CHECK_STATUS(weft_select(&c[1], 1, &chosen), WEFT_OK); /* it has not been joined */
    CHECK_EQ(check_join(ending), 5);
    weft_event_set(&e);
    CHECK_STATUS(weft_select(c, 1, &chosen), WEFT_OK);
    CHECK_EQ(chosen, 0);
    CHECK_EQ(check_join(waiting), 0);
}

FIBER_TEST(a_listener_and_a_stream_are_cases) {
    weft_listener* l = NULL;
    weft_stream* near_end = NULL;
    weft_stream* far_end = NULL;
    char to[64];
    char byte = 0;
    size_t got = 0;
    size_t chosen = 99;
    weft_case c[2];
    CHECK_STATUS(weft_listen("127.0.0.1:0", NULL, &l), WEFT_OK);
    snprintf(to, sizeof to, "127.0.0.1:%u", (unsigned)weft_listener_port(l));
    c[0] = weft_on_acceptable(l);
    c[1] = weft_otherwise();
    CHECK_STATUS(weft_select(c, 2, &chosen), WEFT_OK);
    CHECK_EQ(chosen, 1);
    CHECK_STATUS(weft_connect(to, WEFT_FOREVER, &near_end), WEFT_OK);
    c[1] = weft_on_timeout(HOURS);
    CHECK_STATUS(weft_select(c, 2, &chosen), WEFT_OK);
    CHECK_EQ(chosen, 0);
    CHECK_STATUS(c[0].status, WEFT_OK);
    CHECK_STATUS(weft_accept(l, WEFT_FOREVER, &far_end), WEFT_OK);
    c[0] = weft_on_readable(far_end);
    c[1] = weft_on_timeout(MILLISECOND);
    CHECK_STATUS(weft_select(c, 2, &chosen), WEFT_OK);
    CHECK_EQ(chosen, 1);
    CHECK_STATUS(weft_write(near_end, "x", 1, WEFT_FOREVER, NULL), WEFT_OK);
    c[1] = weft_on_timeout(HOURS);
    CHECK_STATUS(weft_select(c, 2, &chosen), WEFT_OK);
    CHECK_EQ(chosen, 0);
    CHECK_STATUS(weft_read(far_end, &byte, 1, 0, &got), WEFT_OK);
    CHECK_EQ(got, 1);
    CHECK_EQ(byte, 'x');
    weft_stream_destroy(near_end);
    CHECK_STATUS(weft_select(c, 2, &chosen), WEFT_OK); /* the end can be read */
    CHECK_EQ(chosen, 0);
    CHECK_STATUS(weft_read(far_end, &byte, 1, WEFT_FOREVER, &got), WEFT_OK);
    CHECK_EQ(got, 0);
    weft_stream_destroy(far_end);
    weft_listener_destroy(l);
}

ANYWHERE_TEST(none_is_never_chosen) {
    weft_channel* const ch = make(1);
    int32_t v = 0;
    size_t chosen = 99;
    weft_case c[3];
    c[0] = weft_on(WEFT_CASE_NONE, NULL, NULL, 0);
    c[1] = weft_on(WEFT_CASE_NONE, NULL, NULL, 0);
    c[2] = weft_on_receive(ch, &v);
    put(ch, 1);
    CHECK_STATUS(weft_select(c, 3, &chosen), WEFT_OK);
    CHECK_EQ(chosen, 2);
    weft_channel_release(ch);
}

static int selects_what_never_comes(void* arg) {
    weft_case c[2];
    size_t chosen = 99;
    c[0] = weft_on(WEFT_CASE_NONE, NULL, NULL, 0);
    c[1] = weft_on(WEFT_CASE_NONE, NULL, NULL, 0);
    set_to((int*)arg, 1);
    CHECK_STATUS(weft_select(c, 2, &chosen), WEFT_CANCELED);
    CHECK_EQ(chosen, 99);
    CHECK_STATUS(weft_select(c, 2, &chosen), WEFT_CANCELED);
    return 1;
}

ANYWHERE_TEST(if_nothing_can_become_ready_it_waits_for_a_stop) {
    int began = 0;
    weft_fiber* const f = check_spawn(rt, selects_what_never_comes, &began);
    UNTIL(get_of(&began));
    CHECK_STATUS(weft_join(f, 2 * MILLISECOND, NULL), WEFT_TIMEDOUT);
    CHECK(weft_request_stop(f));
    CHECK_EQ(check_join(f), 1);
}

/* ---- waiting --------------------------------------------------------------------------------------- */

enum { MANY = 300 };
struct choice {
    weft_channel** ch;
    size_t n;
    bool sends;
};

static int selects_among_many(void* arg) {
    const struct choice* const choice = (const struct choice*)arg;
    static weft_case c[2][MANY];
    weft_case* const mine = c[choice->sends ? 1 : 0];
    int32_t v = choice->sends ? 77 : 0;
    size_t chosen = SIZE_MAX;
    size_t i;
    for (i = 0; i < choice->n; ++i)
        mine[i] = choice->sends ? weft_on_send(choice->ch[i], &v) : weft_on_receive(choice->ch[i], &v);
    CHECK_STATUS(weft_select(mine, choice->n, &chosen), WEFT_OK);
    CHECK(chosen < choice->n);
    CHECK_STATUS(mine[chosen].status, WEFT_OK);
    CHECK_EQ(v, choice->sends ? 77 : (int32_t)chosen);
    return (int)chosen;
}

ANYWHERE_TEST(one_of_many_that_becomes_ready_is_chosen) {
    const size_t counts[] = {1, 2, 20, MANY};
    static weft_channel* ch[MANY];
    size_t i;
    size_t k;
    int way;
    for (i = 0; i < MANY; ++i) ch[i] = make(0);
    for (k = 0; k < 4; ++k) {
        const size_t indices[] = {0, counts[k] / 2, counts[k] - 1};
        for (i = 0; i < 3; ++i)
            for (way = 0; way < 2; ++way) {
                struct choice choice;
                weft_fiber* f;
                choice.ch = ch;
                choice.n = counts[k];
                choice.sends = way == 1;
                f = check_spawn(rt, selects_among_many, &choice);
                if (way == 0) {
                    const int32_t v = (int32_t)indices[i];
                    CHECK_STATUS(weft_send(ch[indices[i]], &v, WEFT_FOREVER), WEFT_OK);
                } else {
                    int32_t v = 0;
                    CHECK_STATUS(weft_receive(ch[indices[i]], &v, WEFT_FOREVER), WEFT_OK);
                    CHECK_EQ(v, 77);
                }
                CHECK_EQ(check_join(f), (int)indices[i]);
            }
    }
    for (i = 0; i < MANY; ++i) weft_channel_release(ch[i]);
}

ANYWHERE_TEST(one_of_many_that_are_ready_is_chosen_and_only_one) {
    const size_t counts[] = {1, 2, 20, MANY};
    static weft_channel* ch[MANY];
    size_t i;
    size_t k;
    for (k = 0; k < 4; ++k) {
        struct choice choice;
        size_t left = 0;
        for (i = 0; i < counts[k]; ++i) {
            ch[i] = make(1);
            put(ch[i], (int32_t)i);
        }
        choice.ch = ch;
        choice.n = counts[k];
        choice.sends = false;
        CHECK(selects_among_many(&choice) >= 0);
        for (i = 0; i < counts[k]; ++i) {
            left += weft_channel_size(ch[i]);
            weft_channel_release(ch[i]);
        }
        CHECK_EQ(left, counts[k] - 1);
    }
}

ANYWHERE_TEST(of_two_that_are_ready_each_is_chosen) {
    weft_channel* const a = make(1);
    weft_channel* const b = make(1);
    int times[2] = {0, 0};
    int32_t v = 0;
    int i;
    put(a, 1);
    put(b, 2);
    for (i = 0; i < 1000; ++i) {
        size_t chosen = 99;
        weft_case c[2];
        c[0] = weft_on_receive(a, &v);
        c[1] = weft_on_receive(b, &v);
        CHECK_STATUS(weft_select(c, 2, &chosen), WEFT_OK);
        CHECK(chosen < 2);
        ++times[chosen];
        put(chosen == 0 ? a : b, v);
    }
    /* Each is as likely: fewer than 350 of 1000 have a probability below 1e-20. */
    CHECK(times[0] > 350);
    CHECK(times[1] > 350);
    weft_channel_release(a);
    weft_channel_release(b);
}

ANYWHERE_TEST(a_channel_may_be_in_several_cases) {
    weft_channel* const ch = make(1);
    int32_t v = 11;
    int32_t w = 0;
    size_t chosen = 99;
    weft_case c[3];
    c[0] = weft_on_receive(ch, &w);
    c[1] = weft_on_send(ch, &v);
    c[2] = weft_on_receive(ch, &w);
    CHECK_STATUS(weft_select(c, 3, &chosen), WEFT_OK);
    CHECK_EQ(chosen, 1);
    CHECK_STATUS(weft_select(c, 3, &chosen), WEFT_OK);
    CHECK(chosen == 0 || chosen == 2);
    CHECK_EQ(w, 11);
    weft_channel_release(ch);
}

/* ---- bad input ---------------------------------------------------------------------------------------- */

ANYWHERE_TEST(bad_cases_are_refused) {
    weft_channel* const ch = make(1);
    int32_t v = 0;
    size_t chosen = 99;
    weft_case c[2];
    const int32_t unknown[] = {-1, 8, 1000, INT32_MAX, INT32_MIN};
    const int32_t with_object[] = {WEFT_CASE_RECEIVE, WEFT_CASE_SEND, WEFT_CASE_JOIN, WEFT_CASE_READABLE, WEFT_CASE_ACCEPTABLE};
    size_t i;
    put(ch, 12);
    c[0] = weft_on_receive(ch, &v);
    for (i = 0; i < 5; ++i) {
        c[1] = weft_on(unknown[i], NULL, NULL, 0);
        CHECK_STATUS(weft_select(c, 2, &chosen), WEFT_EINVAL);
        c[1] = weft_on(with_object[i], NULL, &v, 0);
        CHECK_STATUS(weft_select(c, 2, &chosen), WEFT_EINVAL);
    }
    c[1] = weft_on_receive(ch, NULL);
    CHECK_STATUS(weft_select(c, 2, &chosen), WEFT_EINVAL);
    c[1] = weft_on_send(ch, NULL);
    CHECK_STATUS(weft_select(c, 2, &chosen), WEFT_EINVAL);
    CHECK_STATUS(weft_select(c, 0, &chosen), WEFT_EINVAL);
    CHECK_STATUS(weft_select(NULL, 1, &chosen), WEFT_EINVAL);
    CHECK_STATUS(weft_select(c, 1, NULL), WEFT_EINVAL);
    CHECK_STATUS(weft_select(c, 65537, &chosen), WEFT_EINVAL);
    CHECK_STATUS(weft_select(c, SIZE_MAX, &chosen), WEFT_EINVAL);
    CHECK_EQ(chosen, 99);
    CHECK_EQ(weft_channel_size(ch), 1); /* nothing of it was done */
    CHECK_STATUS(weft_select(c, 1, &chosen), WEFT_OK);
    CHECK_EQ(v, 12);
    weft_channel_release(ch);
}
