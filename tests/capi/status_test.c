/* status_test.c - statuses, their names, and the words of failures. */
#include "support/check.h"

#include <errno.h>
#include <pthread.h>

static const struct {
    weft_status status;
    int value;
    const char* name;
} all[] = {
    {WEFT_OK, 0, "WEFT_OK"},
    {WEFT_TIMEDOUT, 1, "WEFT_TIMEDOUT"},
    {WEFT_BUSY, 2, "WEFT_BUSY"},
    {WEFT_CLOSED, 3, "WEFT_CLOSED"},
    {WEFT_DONE, 4, "WEFT_DONE"},
    {WEFT_CANCELED, 5, "WEFT_CANCELED"},
    {WEFT_EINVAL, 16, "WEFT_EINVAL"},
    {WEFT_ENOMEM, 17, "WEFT_ENOMEM"},
    {WEFT_ELIMIT, 18, "WEFT_ELIMIT"},
    {WEFT_ESYSTEM, 19, "WEFT_ESYSTEM"},
    {WEFT_EFAILED, 0x57454654, "WEFT_EFAILED"},
    {WEFT_ESTATE, 20, "WEFT_ESTATE"},
    {WEFT_ENOFIBER, 21, "WEFT_ENOFIBER"},
};

TEST(each_status_has_its_value_and_name) {
    size_t i;
    for (i = 0; i < sizeof all / sizeof *all; ++i) {
        CHECK_EQ(all[i].status, all[i].value);
        CHECK(strcmp(weft_status_name(all[i].status), all[i].name) == 0);
    }
}

TEST(another_status_is_unknown) {
    const weft_status others[] = {-1, 6, 15, 23, 1000, INT32_MAX, INT32_MIN};
    size_t i;
    for (i = 0; i < sizeof others / sizeof *others; ++i) CHECK(strcmp(weft_status_name(others[i]), "unknown status") == 0);
}

TEST(the_library_has_the_version_of_the_header) { CHECK_EQ(weft_version(), WEFT_C_VERSION); }

static void* has_no_failure(void* unused) {
    (void)unused;
    CHECK(weft_error() != NULL);
    CHECK(strcmp(weft_error(), "") == 0);
    CHECK_EQ(weft_error_errno(), 0);
    return NULL;
}

TEST(a_new_thread_has_no_failure) {
    pthread_t t;
    CHECK_EQ(weft_fail("of the main thread"), WEFT_EFAILED);
    CHECK(pthread_create(&t, NULL, has_no_failure, NULL) == 0);
    CHECK(pthread_join(t, NULL) == 0);
    CHECK(strcmp(weft_error(), "of the main thread") == 0);
}

static int begins_without(void* unused) {
    has_no_failure(unused);
    return 0;
}

FIBER_TEST(a_new_fiber_has_no_failure) {
    CHECK_EQ(weft_fail("of the parent"), WEFT_EFAILED);
    CHECK_EQ(check_join(check_spawn(rt, begins_without, NULL)), 0);
    CHECK(strcmp(weft_error(), "of the parent") == 0);
}

ANYWHERE_TEST(the_words_are_copied) {
    char words[] = "these words";
    CHECK_EQ(weft_fail(words), WEFT_EFAILED);
    words[0] = 'T';
    CHECK(strcmp(weft_error(), "these words") == 0);
    CHECK_EQ(weft_error_errno(), 0);
}

ANYWHERE_TEST(long_words_are_cut_and_all_others_are_kept) {
    static char words[100001];
    memset(words, 'w', sizeof words - 1);
    CHECK_EQ(weft_fail(words), WEFT_EFAILED);
    CHECK(strlen(weft_error()) >= 255);
    CHECK(strncmp(weft_error(), words, strlen(weft_error())) == 0);
    words[255] = '\0';
    CHECK_EQ(weft_fail(words), WEFT_EFAILED);
    CHECK(strcmp(weft_error(), words) == 0);
    CHECK_EQ(weft_fail(""), WEFT_EFAILED);
    CHECK(strcmp(weft_error(), "") == 0);
    CHECK_EQ(weft_fail("what \"is\" it? \xc3\xa4 %s %n"), WEFT_EFAILED);
    CHECK(strcmp(weft_error(), "what \"is\" it? \xc3\xa4 %s %n") == 0);
}

ANYWHERE_TEST(the_words_of_the_last_failure_can_be_given_again) {
    CHECK_EQ(weft_fail("the words"), WEFT_EFAILED);
    CHECK_EQ(weft_fail(weft_error()), WEFT_EFAILED);
    CHECK(strcmp(weft_error(), "the words") == 0);
}

ANYWHERE_TEST(an_outcome_leaves_the_words_alone) {
    weft_channel* ch = NULL;
    int v = 0;
    CHECK_STATUS(weft_channel_create(sizeof v, 0, NULL, NULL, &ch), WEFT_OK);
    CHECK_EQ(weft_fail("before"), WEFT_EFAILED);
    CHECK_STATUS(weft_receive(ch, &v, 0), WEFT_BUSY);
    CHECK_STATUS(weft_receive(ch, &v, 1), WEFT_TIMEDOUT);
    weft_close(ch);
    CHECK_STATUS(weft_receive(ch, &v, WEFT_FOREVER), WEFT_CLOSED);
    CHECK(strcmp(weft_error(), "before") == 0);
    weft_channel_release(ch);
}

ANYWHERE_TEST(a_failure_of_the_system_has_an_errno_until_the_next_failure) {
    weft_channel* ch = NULL;
    CHECK_STATUS(weft_wait_fd(-1, WEFT_READ, 0), WEFT_ESYSTEM);
    CHECK_EQ(weft_error_errno(), EBADF);
    CHECK(strlen(weft_error()) > 0);
    CHECK_STATUS(weft_channel_create(0, 0, NULL, NULL, &ch), WEFT_EINVAL);
    CHECK_EQ(weft_error_errno(), 0);
    CHECK(strlen(weft_error()) > 0);
    CHECK(ch == NULL);
}

enum { WRITERS = 8, ROUNDS = 200 };

static int writes_its_own(void* number) {
    char words[32];
    int i;
    for (i = 0; i < ROUNDS; ++i) {
        snprintf(words, sizeof words, "fiber %d, failure %d", *(int*)number, i);
        CHECK_EQ(weft_fail(words), WEFT_EFAILED);
        CHECK_STATUS(weft_yield(), WEFT_OK);
        CHECK(strcmp(weft_error(), words) == 0);
    }
    return 0;
}

TEST(the_words_belong_to_the_fiber_and_not_to_its_thread) {
    weft_runtime_options o;
    weft_runtime* r = NULL;
    weft_fiber* f[WRITERS];
    int number[WRITERS];
    int i;
    weft_runtime_options_init(&o);
    o.workers = 3;
    o.torture_migration = true;
    CHECK_STATUS(weft_runtime_create(&o, &r), WEFT_OK);
    for (i = 0; i < WRITERS; ++i) {
        number[i] = i;
        f[i] = check_spawn(r, writes_its_own, &number[i]);
    }
    for (i = 0; i < WRITERS; ++i) CHECK_EQ(check_join(f[i]), 0);
    weft_runtime_destroy(r);
}
