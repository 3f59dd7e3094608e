/* c_scheduler.c - a thousand coroutines double five each: each gives way once, and ends in its middle. */
#include <weft/c_scheduler.h>

#include <stdio.h>
#include <stdlib.h>

static void must(weft_status s) {
    if (s == WEFT_OK) return;
    fprintf(stderr, "%s: %s\n", weft_status_name(s), weft_error());
    exit(1);
}

static void finish(weft_coro *self) { (void)weft_coro_yield(self, WEFT_FINISHED); } /* does not return */

static int twice(weft_coro *self, void *arg) {
    int *number = (int *)arg;
    const int before = *number;
    if (weft_coro_yield(self, WEFT_MAY_RESUME) != WEFT_OK) return 0; /* lets others go first */
    *number = before * 2;
    finish(self);
    *number = -1; /* is never reached */
    return 0;
}

int main(void) {
    int numbers[1000];
    weft_scheduler s;
    must(weft_scheduler_init(&s, 0, WEFT_BATCH)); /* a worker for each CPU; coroutines begin in run */
    for (int i = 0; i < 1000; ++i) {
        numbers[i] = 5;
        must(weft_scheduler_add(&s, twice, &numbers[i]));
    }
    must(weft_scheduler_run(&s)); /* until all have ended */
    weft_scheduler_destroy(&s);

    int sum = 0;
    for (int i = 0; i < 1000; ++i) sum += numbers[i];
    printf("%d\n", sum);
    return 0;
}
