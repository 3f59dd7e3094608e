/* c_statuses.c - a deadline, a failure in words, and a stop after which a fiber cleans up and returns. */
#include <weft/c.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define MILLISECOND ((int64_t)1000000)
#define HOUR (3600 * 1000 * MILLISECOND)

static void must(weft_status s) {
    if (s == WEFT_OK) return;
    fprintf(stderr, "%s: %s\n", weft_status_name(s), weft_error());
    exit(1);
}

static weft_status slow_query(void) { return weft_sleep(HOUR); }

static int no_such_account(void *arg) {
    (void)arg;
    return weft_fail("no such account"); /* this int is a failure; any other would be a result */
}

struct account {
    weft_event open; /* zeroed memory is an event that is not set */
    bool saved;
};

static int serve_account(void *arg) {
    struct account *mine = (struct account *)arg;
    int *orders = (int *)malloc(100 * sizeof *orders);
    if (orders == NULL) return weft_fail("no memory");

    weft_channel *inbox;
    weft_status s = weft_channel_create(sizeof *orders, 8, NULL, NULL, &inbox);
    if (s != WEFT_OK) goto no_inbox;
    weft_event_set(&mine->open);
    s = weft_receive(inbox, &orders[0], WEFT_FOREVER); /* nobody sends: a stop ends it */
    printf("receive: %s\n", weft_status_name(s));
    printf("sleep: %s\n", weft_status_name(weft_sleep(HOUR))); /* so does every further wait */

    weft_shield saving;
    weft_shield_enter(&saving, 1000 * MILLISECOND); /* except under a shield */
    mine->saved = weft_sleep(MILLISECOND) == WEFT_OK;
    weft_shield_leave(&saving);

    weft_channel_release(inbox);
no_inbox:
    free(orders);
    return s >= WEFT_EINVAL ? WEFT_EFAILED : 7; /* WEFT_EFAILED takes the words of the last failure along */
}

static int first_fiber(void *arg) {
    (void)arg;
    weft_deadline d;
    weft_deadline_enter(&d, 5 * MILLISECOND);
    weft_status s = slow_query();
    printf("slow_query: %s, ", weft_status_name(s));
    s = weft_deadline_leave(&d, s);
    printf("and outside of the deadline: %s\n", weft_status_name(s));

    weft_fiber *f;
    must(weft_spawn(NULL, no_such_account, NULL, NULL, &f));
    s = weft_join(f, WEFT_FOREVER, NULL);
    printf("join: %s, %s\n", weft_status_name(s), weft_error());

    struct account savings = {WEFT_ZERO_INIT, false};
    must(weft_spawn(NULL, serve_account, &savings, NULL, &f));
    must(weft_event_wait(&savings.open, WEFT_FOREVER));
    weft_request_stop(f);
    int result;
    must(weft_join(f, WEFT_FOREVER, &result));
    printf("stopped, %s, and returned %d\n", savings.saved ? "saved" : "not saved", result);
    return 0;
}

int main(void) {
    weft_runtime *rt;
    must(weft_runtime_create(NULL, &rt));
    int code;
    must(weft_run(rt, first_fiber, NULL, &code));
    weft_runtime_destroy(rt);
    return code;
}
