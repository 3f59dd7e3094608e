/* c_select.c - a shop waits for the next order, the end of its buyer, and silence, whichever is first. */
#include <weft/c.h>

#include <stdio.h>
#include <stdlib.h>

static void must(weft_status s) {
    if (s == WEFT_OK) return;
    fprintf(stderr, "%s: %s\n", weft_status_name(s), weft_error());
    exit(1);
}

struct order {
    char what[16];
    int cents;
};

static int buy(void *arg) {
    weft_channel *orders = (weft_channel *)arg;
    const struct order all[] = {{"tea", 250}, {"bread", 310}, {"salt", 90}};
    for (int i = 0; i < 3; ++i) must(weft_send(orders, &all[i], WEFT_FOREVER));
    return 0;
}

static int shop(void *arg) {
    (void)arg;
    weft_channel *orders;
    must(weft_channel_create(sizeof(struct order), 0, NULL, NULL, &orders)); /* 0: handed over directly */
    weft_fiber *buyer;
    must(weft_spawn(NULL, buy, orders, NULL, &buyer));

    struct order next;
    int cents = 0;
    size_t chosen;
    enum { ORDER, END, SILENCE };
    weft_case cases[3];
    cases[ORDER] = weft_on_receive(orders, &next); /* where to */
    cases[END] = weft_on_join(buyer);
    cases[SILENCE] = weft_on_timeout((int64_t)60 * 1000000000);
    for (;;) {
        must(weft_select(cases, 3, &chosen));
        if (chosen != ORDER) break;
        printf("%s for %d\n", next.what, next.cents);
        cents += next.cents;
    }
    printf("%d in all, %s\n", cents, chosen == END ? "and the buyer has left" : "and silence for a minute");
    must(weft_join(buyer, WEFT_FOREVER, NULL)); /* the case only says that this does not wait */

    weft_case now[2];
    now[0] = weft_on_receive(orders, &next);
    now[1] = weft_otherwise(); /* if nothing else is ready: this select does not wait */
    must(weft_select(now, 2, &chosen));
    printf("%s\n", chosen == 1 ? "no further order" : next.what);

    weft_close(orders);
    must(weft_select(now, 2, &chosen));
    printf("%s\n", chosen == 0 ? weft_status_name(now[0].status) : "not closed");
    weft_channel_release(orders);
    return 0;
}

int main(void) {
    weft_runtime *rt;
    must(weft_runtime_create(NULL, &rt));
    int code;
    must(weft_run(rt, shop, NULL, &code));
    weft_runtime_destroy(rt);
    return code;
}
