// local_test.cpp - fiber_local: one value per fiber, wherever it runs, made at first use and gone with its body.
#include <weft/local.hpp>

#include <weft/coroutine.hpp>
#include <weft/scope.hpp>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>

#include "support/eventually.hpp"
#include "support/no_leaks.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

class fiber_locals : public on_workers {};
WEFT_ON_1_2_4_8_WORKERS(fiber_locals);

TEST_P(fiber_locals, each_fiber_has_its_own_across_park_points) {
    fiber_local<int> number;
    watched_runtime rt(GetParam());
    rt.run([&] {
        number.get() = -1;
        with_scope([&](scope& s) {
            for (int i = 1; i <= 100; ++i)
                s.spawn([&, i] {
                    EXPECT_EQ(*number, 0);
                    int& mine = number.get();
                    for (int n = 0; n < 20; ++n) {
                        mine += i;
                        this_fiber::yield();
                        EXPECT_EQ(&mine, &number.get());
                    }
                    EXPECT_EQ(mine, 20 * i);
                });
        });
        EXPECT_EQ(*number, -1);
    });
}

/// Counts its living, and appends its name when it goes.
struct witness {
    witness(std::string& to, char n) : log(to), name(n) { ++living; }
    witness(const witness&) = delete;
    witness& operator=(const witness&) = delete;
    ~witness() {
        log += name;
        --living;
    }
    std::string& log;
    char name;
    static inline std::atomic<int> living{0};
};

TEST_P(fiber_locals, values_end_with_the_body_and_before_join_returns) {
    std::string log;
    fiber_local<std::unique_ptr<witness>> value;
    watched_runtime rt(GetParam());
    for (int n = 0; n < 50; ++n) {
        auto f = rt.spawn([&] {
            *value = std::make_unique<witness>(log, 'x');
            this_fiber::yield();
        });
        f.join();
        EXPECT_EQ(witness::living, 0);
    }
    EXPECT_EQ(log, std::string(50, 'x'));
}

TEST_P(fiber_locals, many_fibers_at_once_have_their_own) {
    fiber_local<int> a, b;
    watched_runtime rt(GetParam());
    rt.run([&] {
        with_scope([&](scope& s) {
            for (int i = 0; i < 3'000; ++i)  // more than one chunk of tables
                s.spawn([&] {
                    ++*a;
                    this_fiber::yield();
                    *b += *a;
                    EXPECT_EQ(*b, 1);
                });
        });
    });
}

TEST(fiber_local, the_youngest_goes_first) {
    std::string log;
    fiber_local<std::unique_ptr<witness>> a, b, c;
    run([&] {
        *b = std::make_unique<witness>(log, 'b');
        *a = std::make_unique<witness>(log, 'a');
        *c = std::make_unique<witness>(log, 'c');
    });
    EXPECT_EQ(log, "cab");
}

TEST(fiber_local, it_begins_as_its_function_says) {
    int made = 0;
    fiber_local<std::string> name([&] { return "fiber " + std::to_string(++made); });
    run([&] {
        EXPECT_EQ(*name, "fiber 1");
        EXPECT_EQ(spawn([&] { return name->size(); }).join(), 7u);
        EXPECT_EQ(*name, "fiber 1");
    });
    EXPECT_EQ(made, 2);
}

TEST(fiber_local, what_the_function_throws_comes_out_and_the_next_use_tries_again) {
    bool fails = true;
    fiber_local<int> value([&] {
        if (std::exchange(fails, false)) throw std::runtime_error("not yet");
        return 7;
    });
    run([&] {
        EXPECT_THROW(value.get(), std::runtime_error);
        EXPECT_EQ(value.get(), 7);
    });
}

TEST(fiber_local, a_plain_thread_has_its_own) {
    fiber_local<int> number;
    *number = 1;
    std::thread([&] { EXPECT_EQ(++*number, 1); }).join();
    run([&] { EXPECT_EQ(++*number, 1); });
    EXPECT_EQ(*number, 1);
}

/// A thread_local object made before the thread's first value ends after that.
struct uses_at_thread_end {
    fiber_local<std::shared_ptr<int>>* local = nullptr;
    std::shared_ptr<int> last;
    ~uses_at_thread_end() {
        if (!local) return;
        EXPECT_FALSE(local->get()) << "what the thread had has ended";
        local->get() = last;
        EXPECT_EQ(local->get(), last);
    }
};

TEST(fiber_local, LOCAL_4_what_a_thread_keeps_while_it_ends_ends_too) {
    fiber_local<std::shared_ptr<int>> local;
    const auto first = std::make_shared<int>(1), last = std::make_shared<int>(2);
    std::thread([&] {
        static thread_local uses_at_thread_end late;
        late.local = &local;
        late.last = last;
        local.get() = first;
    }).join();
    EXPECT_EQ(first.use_count(), 1);
    EXPECT_EQ(last.use_count(), 1);
}

TEST(fiber_local, a_fiber_joined_in_place_has_its_own) {
    fiber_local<int> number;
    run(
        [&] {
            *number = 1;
            auto child = spawn([&] { return ++*number; });
            EXPECT_EQ(child.join(), 1);  // runs on this fiber's stack
            EXPECT_EQ(*number, 1);
        },
        {.workers = 1});
}

TEST(fiber_local, a_coroutine_has_its_fibers) {
    fiber_local<int> number;
    run([&] {
        *number = 1;
        coroutine<> c([&] { ++*number; });
        c.call();
        EXPECT_EQ(*number, 2);
    });
}

TEST(fiber_local, LOCAL_2_a_later_one_does_not_find_an_earlier_ones_value) {
    std::string log;
    run([&] {
        {
            fiber_local<std::unique_ptr<witness>> first;
            *first = std::make_unique<witness>(log, 'x');
        }
        fiber_local<int> second;  // has the same slot
        EXPECT_EQ(second.get(), 0);
        EXPECT_EQ(log, "");
    });
    EXPECT_EQ(log, "x");
}

/// Uses a local of the same fiber when it goes.
struct appends_when_destroyed {
    ~appends_when_destroyed() {
        if (text) *log += **text + "!";
    }
    fiber_local<std::string>* text = nullptr;
    std::string* log = nullptr;
};

TEST(fiber_local, a_destructor_may_use_others) {
    std::string log;
    fiber_local<std::string> text([] { return std::string("made"); });
    fiber_local<appends_when_destroyed> last;
    run([&] {
        last->text = &text;  // older than the text, and destroyed after it: finds a new one
        last->log = &log;
        *text = "set";
    });
    EXPECT_EQ(log, "made!");
}

/// What a body returns, of which it is known in which order the fiber's values and this are destroyed.
struct counts_when_destroyed {
    explicit counts_when_destroyed(fiber_local<int>& n) : number(&n) {}
    counts_when_destroyed(counts_when_destroyed&& other) noexcept : number(std::exchange(other.number, nullptr)) {}
    ~counts_when_destroyed() {
        if (number && ++number->get() != 100) ++strangers;  // not the fiber's, which was 99
    }
    fiber_local<int>* number;
    static inline std::atomic<int> strangers{0};
};

TEST(fiber_local, LOCAL_3_what_runs_after_the_body_has_the_threads) {
    fiber_local<int> number;
    runtime rt({.workers = 1});
    for (int n = 0; n < 3; ++n)
        rt.spawn_detached([&] {
            *number = 99;
            return counts_when_destroyed(number);
        });
    EXPECT_TRUE(eventually([&] { return rt.stats().fibers == 0; }));
    EXPECT_EQ(counts_when_destroyed::strangers, 3);
}

}  // namespace
}  // namespace weft::test
