/* local_test.c - fiber-local values: one per fiber, destroyed at its end. */
#include "support/check.h"

#include <pthread.h>

static int destroyed;

static void counts_destroyed(void* value) { add_to(&destroyed, *(int*)value); }

struct user {
    const weft_local* key;
    int mine;
};

static int has_its_own(void* arg) {
    struct user* const u = (struct user*)arg;
    int other = 0;
    int i;
    CHECK(weft_local_get(u->key) == NULL); /* a value begins as null */
    CHECK_STATUS(weft_local_set(u->key, &u->mine), WEFT_OK);
    for (i = 0; i < 50; ++i) {
        CHECK_STATUS(weft_yield(), WEFT_OK);
        CHECK(weft_local_get(u->key) == &u->mine);
    }
    CHECK_STATUS(weft_local_set(u->key, &other), WEFT_OK);
    CHECK(weft_local_get(u->key) == &other);
    CHECK_STATUS(weft_local_set(u->key, &u->mine), WEFT_OK); /* the one before is not destroyed */
    return 0;
}

static void* has_its_own_on_a_thread(void* arg) {
    CHECK_EQ(has_its_own(arg), 0);
    return NULL;
}

TEST(each_fiber_has_its_own_value_wherever_it_runs) {
    enum { FIBERS = 16 };
    weft_runtime_options o;
    weft_runtime* r = NULL;
    weft_local key;
    struct user u[FIBERS];
    weft_fiber* f[FIBERS];
    int i;
    weft_runtime_options_init(&o);
    o.workers = 3;
    o.torture_migration = true;
    CHECK_STATUS(weft_runtime_create(&o, &r), WEFT_OK);
    destroyed = 0;
    CHECK_STATUS(weft_local_create(&key, counts_destroyed), WEFT_OK);
    for (i = 0; i < FIBERS; ++i) {
        u[i].key = &key;
        u[i].mine = i + 1;
        f[i] = check_spawn(r, has_its_own, &u[i]);
    }
    for (i = 0; i < FIBERS; ++i) CHECK_EQ(check_join(f[i]), 0);
    CHECK_EQ(get_of(&destroyed), FIBERS * (FIBERS + 1) / 2);
    weft_local_destroy(&key);
    weft_runtime_destroy(r);
}

TEST(a_thread_has_its_own_value) {
    weft_local key;
    struct user u;
    pthread_t t;
    int v = 100;
    destroyed = 0;
    CHECK_STATUS(weft_local_create(&key, counts_destroyed), WEFT_OK);
    CHECK(weft_local_get(&key) == NULL);
    CHECK_STATUS(weft_local_set(&key, &v), WEFT_OK);
    u.key = &key;
    u.mine = 7;
    CHECK(pthread_create(&t, NULL, has_its_own_on_a_thread, &u) == 0);
    CHECK(pthread_join(t, NULL) == 0);
    CHECK_EQ(get_of(&destroyed), 7);
    CHECK(weft_local_get(&key) == &v);
    CHECK_STATUS(weft_local_set(&key, NULL), WEFT_OK);
    CHECK(weft_local_get(&key) == NULL);
    weft_local_destroy(&key);
}

static int takes_it_back(void* key) {
    int v = 1000;
    CHECK_STATUS(weft_local_set((weft_local*)key, &v), WEFT_OK);
    CHECK_STATUS(weft_local_set((weft_local*)key, NULL), WEFT_OK);
    return 0;
}

ANYWHERE_TEST(a_null_value_is_not_destroyed) {
    weft_local key;
    destroyed = 0;
    CHECK_STATUS(weft_local_create(&key, counts_destroyed), WEFT_OK);
    CHECK_EQ(check_join(check_spawn(rt, takes_it_back, &key)), 0);
    CHECK_EQ(get_of(&destroyed), 0);
    weft_local_destroy(&key);
}

struct several {
    weft_local* keys;
    int values[3];
};

static int sets_three(void* arg) {
    struct several* const s = (struct several*)arg;
    int i;
    for (i = 0; i < 3; ++i) CHECK_STATUS(weft_local_set(&s->keys[i], &s->values[i]), WEFT_OK);
    for (i = 0; i < 3; ++i) CHECK(weft_local_get(&s->keys[i]) == &s->values[i]);
    return 0;
}

ANYWHERE_TEST(keys_do_not_know_each_other) {
    weft_local keys[3];
    struct several s;
    int i;
    destroyed = 0;
    for (i = 0; i < 3; ++i) {
        CHECK_STATUS(weft_local_create(&keys[i], i == 1 ? NULL : counts_destroyed), WEFT_OK);
        s.values[i] = i == 0 ? 1 : i == 1 ? 10 : 100;
    }
    s.keys = keys;
    CHECK_EQ(check_join(check_spawn(rt, sets_three, &s)), 0);
    CHECK_EQ(get_of(&destroyed), 101); /* that of the second key has no destroy */
    for (i = 0; i < 3; ++i) weft_local_destroy(&keys[i]);
}

struct outlives {
    weft_local key;
    int value;
    int is_set;
    weft_event go;
};

static int keeps_its_value(void* arg) {
    struct outlives* const o = (struct outlives*)arg;
    CHECK_STATUS(weft_local_set(&o->key, &o->value), WEFT_OK);
    set_to(&o->is_set, 1);
    CHECK_STATUS(weft_event_wait(&o->go, WEFT_FOREVER), WEFT_OK);
    return 0;
}

ANYWHERE_TEST(a_value_lives_longer_than_its_key) {
    struct outlives o;
    weft_fiber* f;
    memset(&o, 0, sizeof o);
    o.value = 55;
    destroyed = 0;
    CHECK_STATUS(weft_local_create(&o.key, counts_destroyed), WEFT_OK);
    f = check_spawn(rt, keeps_its_value, &o);
    UNTIL(get_of(&o.is_set));
    weft_local_destroy(&o.key);
    weft_local_destroy(&o.key); /* nothing is left of it */
    CHECK(weft_local_get(&o.key) == NULL);
    CHECK_EQ(get_of(&destroyed), 0);
    weft_event_set(&o.go);
    CHECK_EQ(check_join(f), 0);
    CHECK_EQ(get_of(&destroyed), 55);
}

static weft_local key_of_ids;
static uint64_t destroyed_on;

static void notes_the_fiber(void* value) {
    (void)value;
    destroyed_on = weft_self_id();
}

static int sets_one(void* value) {
    CHECK_STATUS(weft_local_set(&key_of_ids, value), WEFT_OK);
    return 0;
}

ANYWHERE_TEST(a_value_is_destroyed_on_its_fiber) {
    int v = 0;
    weft_fiber* f;
    uint64_t id;
    destroyed_on = 0;
    CHECK_STATUS(weft_local_create(&key_of_ids, notes_the_fiber), WEFT_OK);
    f = check_spawn(rt, sets_one, &v);
    id = weft_fiber_id(f);
    CHECK_EQ(check_join(f), 0);
    CHECK(destroyed_on == id);
    weft_local_destroy(&key_of_ids);
}
