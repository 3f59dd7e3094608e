// throws_test.cpp - bodies in C++ that throw: what C hears of it.
#include "support/check.h"

#include <weft/c_scheduler.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

namespace {

// What a body throws, and the words that must come with WEFT_EFAILED; null: any.
struct thrown {
    weft_body body;
    const char* words;
};

int throws_runtime_error(void*) { throw std::runtime_error("out of paper"); }
int throws_int(void*) { throw 42; }
int throws_bad_alloc(void*) { throw std::bad_alloc(); }
int throws_invalid_argument(void*) { throw std::invalid_argument("what was given"); }
int throws_system_error(void*) { throw std::system_error(ENOENT, std::generic_category(), "of the body"); }
int throws_after_waiting(void*) {
    CHECK_STATUS(weft_sleep(100 * MICROSECOND), WEFT_OK);
    throw std::runtime_error("late");
}
int throws_without_words(void*) { throw std::runtime_error(""); }

const thrown all[] = {
    {throws_runtime_error, "out of paper"},
    {throws_int, nullptr},
    {throws_bad_alloc, nullptr},
    {throws_invalid_argument, "what was given"},
    {throws_system_error, "of the body"},
    {throws_after_waiting, "late"},
};

void check_words(const char* words) {
    CHECK(std::strlen(weft_error()) > 0);
    if (words) CHECK_CONTAINS(weft_error(), words);
}

struct destroyed {
    int& n;
    ~destroyed() { ++n; }
};

int unwinds(void* n) {
    const destroyed one{*static_cast<int*>(n)};
    throw std::runtime_error("unwound");
}

}  // namespace

ANYWHERE_TEST(join_hears_of_what_a_body_throws) {
    for (const auto& t : all) {
        int result = 99;
        CHECK_STATUS(weft_join(check_spawn(rt, t.body, nullptr), WEFT_FOREVER, &result), WEFT_EFAILED);
        check_words(t.words);
        CHECK_EQ(result, 99);
    }
}

ANYWHERE_TEST(run_hears_of_what_a_body_throws) {
    for (const auto& t : all) {
        CHECK_STATUS(weft_run(rt, t.body, nullptr, nullptr), WEFT_EFAILED);
        check_words(t.words);
    }
}

ANYWHERE_TEST(blocking_hears_of_what_a_function_throws) {
    for (const auto& t : all) {
        CHECK_STATUS(weft_blocking(t.body, nullptr, nullptr), WEFT_EFAILED);
        check_words(t.words);
    }
}

ANYWHERE_TEST(close_hears_of_what_a_child_throws) {
    for (const auto& t : all) {
        weft_scope* s = nullptr;
        CHECK_STATUS(weft_scope_open(rt, nullptr, &s), WEFT_OK);
        CHECK_STATUS(weft_scope_spawn(s, t.body, nullptr, nullptr), WEFT_OK);
        CHECK_STATUS(weft_scope_close(s), WEFT_EFAILED);
        check_words(t.words);
    }
}

ANYWHERE_TEST(objects_of_the_body_are_destroyed) {
    int n = 0;
    CHECK_STATUS(weft_run(rt, unwinds, &n, nullptr), WEFT_EFAILED);
    CHECK_EQ(n, 1);
    CHECK_STATUS(weft_blocking(unwinds, &n, nullptr), WEFT_EFAILED);
    CHECK_EQ(n, 2);
}

ANYWHERE_TEST(a_failure_without_words_does_not_keep_those_of_another) {
    CHECK_EQ(weft_fail("of another"), WEFT_EFAILED);
    CHECK_STATUS(weft_run(rt, throws_without_words, nullptr, nullptr), WEFT_EFAILED);
    CHECK(std::strcmp(weft_error(), "of another") != 0);
}

ANYWHERE_TEST(the_caller_of_a_coroutine_hears_of_what_it_throws) {
    for (const auto& t : all) {
        weft_coroutine* c = nullptr;
        auto body = t.body;
        const auto calls = [](weft_coroutine* self, void* first, void* arg) -> void* {
            CHECK_STATUS(weft_coroutine_yield(self, first, nullptr), WEFT_OK);
            (*static_cast<weft_body*>(arg))(nullptr);
            return nullptr;
        };
        void* out = &c;
        CHECK_STATUS(weft_coroutine_create(calls, &body, 0, &c), WEFT_OK);
        CHECK_STATUS(weft_coroutine_call(c, nullptr, nullptr), WEFT_OK);
        CHECK_STATUS(weft_coroutine_call(c, nullptr, &out), WEFT_EFAILED);
        check_words(t.words);
        CHECK(weft_coroutine_is_done(c));
        CHECK_STATUS(weft_coroutine_call(c, nullptr, &out), WEFT_DONE);
        CHECK(out == nullptr);
        weft_coroutine_destroy(c);
    }
}

ANYWHERE_TEST(a_callback_that_throws_is_a_failure) {
    for (const auto& t : all) {
        auto body = t.body;
        const auto start = [](void* arg, weft_resume* r) {
            weft_resume_drop(r);
            (*static_cast<weft_body*>(arg))(nullptr);
        };
        const auto s = weft_await_callback(start, nullptr, &body, nullptr);
        CHECK(s >= WEFT_EINVAL);  // start is no body: its status says what it has thrown
        CHECK(std::strlen(weft_error()) > 0);
    }
}

ANYWHERE_TEST(a_scheduler_hears_of_what_a_coroutine_throws) {
    for (const auto& t : all) {
        weft_scheduler s;
        auto body = t.body;
        const auto calls = [](weft_coro*, void* arg) { return (*static_cast<weft_body*>(arg))(nullptr); };
        CHECK_STATUS(weft_scheduler_init(&s, 1, WEFT_BATCH), WEFT_OK);
        CHECK_STATUS(weft_scheduler_add(&s, calls, &body), WEFT_OK);
        CHECK_STATUS(weft_scheduler_run(&s), WEFT_EFAILED);
        check_words(t.words);
        weft_scheduler_destroy(&s);
    }
}

TEST(on_unhandled_hears_of_what_a_detached_body_throws) {
    struct heard {
        int n = 0;
        std::string words;
    } h;
    weft_runtime_options o;
    weft_runtime* r = nullptr;
    weft_runtime_options_init(&o);
    o.workers = 1;
    o.user = &h;
    o.on_unhandled = [](void* user, const weft_fiber_info* fiber, weft_status s, const char* words) {
        CHECK(fiber->detached);
        CHECK_STATUS(s, WEFT_EFAILED);
        static_cast<heard*>(user)->words = words;
        add_to(&static_cast<heard*>(user)->n, 1);
    };
    CHECK_STATUS(weft_runtime_create(&o, &r), WEFT_OK);
    for (const auto& t : all) {
        const int before = get_of(&h.n);
        CHECK_STATUS(weft_spawn(r, t.body, nullptr, nullptr, nullptr), WEFT_OK);
        UNTIL(get_of(&h.n) == before + 1);
        CHECK(!h.words.empty());
        if (t.words) CHECK_CONTAINS(h.words.c_str(), t.words);
        h.words.clear();
    }
    weft_runtime_destroy(r);
}

ANYWHERE_TEST(a_join_within_a_fiber_hears_of_it_as_well) {
    const auto joins = [](void* body) -> int {
        const auto s = weft_join(check_spawn(nullptr, *static_cast<weft_body*>(body), nullptr), WEFT_FOREVER, nullptr);
        CHECK_STATUS(s, WEFT_EFAILED);
        return s;
    };
    for (const auto& t : all) {
        auto body = t.body;
        CHECK_STATUS(weft_run(rt, joins, &body, nullptr), WEFT_EFAILED);
        check_words(t.words);
    }
}
