/* c_coroutine.c - a function that pauses, gives values and takes values; it needs no runtime. */
#include <weft/c.h>

#include <stdio.h>
#include <stdlib.h>

static void must(weft_status s) {
    if (s == WEFT_OK) return;
    fprintf(stderr, "%s: %s\n", weft_status_name(s), weft_error());
    exit(1);
}

static void *mean(weft_coroutine *self, void *first, void *arg) {
    double *result = (double *)arg; /* lies with the caller, since values go in and out as pointers */
    double sum = 0;
    int n = 0;
    void *next = first;
    do {
        sum += *(const double *)next;
        *result = sum / ++n;
    } while (weft_coroutine_yield(self, result, &next) == WEFT_OK && next != NULL);
    printf("the mean ends after %d numbers\n", n); /* here it would clean up, also if it is destroyed */
    return NULL;
}

int main(void) {
    double result = 0;
    weft_coroutine *c;
    must(weft_coroutine_create(mean, &result, 0, &c));
    double numbers[] = {3, 4, 8};
    for (int i = 0; i < 3; ++i) {
        void *out;
        must(weft_coroutine_call(c, &numbers[i], &out));
        printf("%g\n", *(const double *)out);
    }
    const weft_status s = weft_coroutine_call(c, NULL, NULL);
    printf("%s\n", weft_status_name(s));
    weft_coroutine_destroy(c);

    must(weft_coroutine_create(mean, &result, 0, &c));
    must(weft_coroutine_call(c, &numbers[0], NULL));
    weft_coroutine_destroy(c); /* its yield returns WEFT_CANCELED */
    return 0;
}
