/* hooks_test.c - the hook that hears of each wait of a fiber. */
#include "support/check.h"

#include <weft/c_hooks.h>

static int heard;
static int heard_receive;
static int heard_sleep;
static int heard_name;
static uint64_t watched;

static bool is(const char* text, size_t n, const char* expected) {
    return n == strlen(expected) && memcmp(text, expected, n) == 0;
}

static void hears(const weft_parking* what) {
    add_to(&heard, 1);
    if (what->fiber != __atomic_load_n(&watched, __ATOMIC_SEQ_CST)) return;
    if (what->reason_bytes == 0) return;
    if (is(what->reason, what->reason_bytes, "channel receive")) add_to(&heard_receive, 1);
    if (is(what->reason, what->reason_bytes, "sleep")) add_to(&heard_sleep, 1);
    if (is(what->name, what->name_bytes, "watched")) add_to(&heard_name, 1);
}

static int receives_and_sleeps(void* ch) {
    int v = 0;
    __atomic_store_n(&watched, weft_self_id(), __ATOMIC_SEQ_CST);
    CHECK_STATUS(weft_receive((weft_channel*)ch, &v, WEFT_FOREVER), WEFT_OK);
    CHECK_STATUS(weft_sleep(MILLISECOND), WEFT_OK);
    return v;
}

static int asked;

static bool concerns_second(void) {
    add_to(&asked, 1);
    return get_of(&asked) == 2;
}

static int sleeps_twice(void* unused) {
    (void)unused;
    CHECK_STATUS(weft_sleep(MILLISECOND), WEFT_OK);
    CHECK_STATUS(weft_sleep(MILLISECOND), WEFT_OK);
    return 0;
}

TEST(the_hook_hears_of_the_waits_that_concern_it) {
    weft_fiber* f = NULL;
    weft_runtime* r = check_make_runtime(1);
    heard = asked = 0;
    CHECK_STATUS(weft_set_park_check(concerns_second, hears), WEFT_OK);
    CHECK_STATUS(weft_spawn(r, sleeps_twice, NULL, NULL, &f), WEFT_OK);
    CHECK_EQ(check_join(f), 0);
    CHECK_STATUS(weft_set_park_hook(NULL), WEFT_OK);
    CHECK_EQ(get_of(&asked), 2);
    CHECK_EQ(get_of(&heard), 1);
    weft_runtime_destroy(r);
}

TEST(the_hook_hears_of_each_wait_and_its_reason) {
    int round;
    for (round = 0; round < 2; ++round) { /* before the first runtime or after it: both work */
        weft_runtime* r;
        weft_channel* ch = NULL;
        weft_attributes a;
        weft_fiber* f = NULL;
        int v = 12;
        int before;
        heard = heard_receive = heard_sleep = heard_name = 0;
        if (round == 0) CHECK_STATUS(weft_set_park_hook(hears), WEFT_OK);
        r = check_make_runtime(2);
        if (round == 1) CHECK_STATUS(weft_set_park_hook(hears), WEFT_OK);
        CHECK_STATUS(weft_channel_create(sizeof v, 0, NULL, NULL, &ch), WEFT_OK);
        weft_attributes_init(&a);
        a.name = "watched";
        CHECK_STATUS(weft_spawn(r, receives_and_sleeps, ch, &a, &f), WEFT_OK);
        UNTIL(get_of(&heard_receive) == 1);
        CHECK_STATUS(weft_send(ch, &v, WEFT_FOREVER), WEFT_OK);
        CHECK_EQ(check_join(f), 12);
        CHECK_EQ(get_of(&heard_receive), 1);
        CHECK_EQ(get_of(&heard_sleep), 1);
        CHECK_EQ(get_of(&heard_name), 2);
        CHECK_STATUS(weft_set_park_hook(NULL), WEFT_OK);
        before = get_of(&heard);
        f = NULL;
        CHECK_STATUS(weft_spawn(r, receives_and_sleeps, ch, &a, &f), WEFT_OK);
        CHECK_STATUS(weft_send(ch, &v, WEFT_FOREVER), WEFT_OK);
        CHECK_EQ(check_join(f), 12);
        CHECK_EQ(get_of(&heard), before);
        weft_channel_release(ch);
        weft_runtime_destroy(r);
    }
}
