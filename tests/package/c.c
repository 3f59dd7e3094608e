/* c.c - an outside user of weft::c: a fiber, and the coroutines of the scheduler. */
#include <weft/c_scheduler.h>

#include <stdio.h>

static int answer(void *arg) {
    *(int *)arg = 42;
    return weft_yield() == WEFT_OK ? 7 : 0;
}

static int count(weft_coro *self, void *arg) {
    if (weft_coro_yield(self, WEFT_MAY_RESUME) == WEFT_OK) ++*(int *)arg;
    return 0;
}

int main(void) {
    weft_runtime *rt = NULL;
    weft_scheduler one_worker;
    int value = 0, result = 0, counted = 0;
    if (weft_version() != WEFT_C_VERSION) return 1;
    if (weft_runtime_create(NULL, &rt) != WEFT_OK) return 2;
    if (weft_run(rt, answer, &value, &result) != WEFT_OK || value != 42 || result != 7) return 3;
    weft_runtime_destroy(rt);

    if (weft_scheduler_init(&one_worker, 1, WEFT_BATCH) != WEFT_OK) return 4;
    for (int i = 0; i < 10; ++i)
        if (weft_scheduler_add(&one_worker, count, &counted) != WEFT_OK) return 5;
    if (weft_scheduler_run(&one_worker) != WEFT_OK || counted != 10) return 6;
    weft_scheduler_destroy(&one_worker);
    return 0;
}
