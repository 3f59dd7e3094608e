// spawn_actor_test.cpp - the forms of spawn_actor, with and without attributes, and what the attributes do to the fiber.
#include <weft/supervisor.hpp>

#include "actor/actors.hpp"

#include <memory>
#include <thread>

namespace weft::test {
namespace {

using spawned_actors = actors;
WEFT_ON_1_2_4_8_WORKERS(spawned_actors);

constexpr std::size_t kib = 1024;

/// Says what its fiber is like.
struct subject {
    struct stack {
        using reply = std::size_t;
    };
    struct rank {
        using reply = weft::priority;
    };
    std::size_t handle(stack) const { return this_fiber::stack_remaining(); }
    weft::priority handle(rank) const { return this_fiber::priority(); }
};

/// Can only be made of arguments that are moved.
struct owner {
    struct value {
        using reply = int;
    };
    std::unique_ptr<int> number;
    int plus;
    owner(std::unique_ptr<int> n, int p) : number(std::move(n)), plus(p) {}
    int handle(value) const { return *number + plus; }
};

TEST_P(spawned_actors, need_no_attributes) {
    rt.run([&] {
        const auto w = spawn_actor<worker>();
        std::string name = "unset";
        run_on(w, [&] { name = weft::self<worker>().name(); });
        const auto end = w.monitor();
        w.close();
        EXPECT_EQ(end_of(end), "normal");
        EXPECT_EQ(name, "");

        EXPECT_EQ(spawn_actor<account>(100).ask(account::balance{}), 100);
        EXPECT_EQ(spawn_actor<owner>(std::make_unique<int>(40), 2).ask(owner::value{}), 42);

        int sum = 0;
        const auto adder = spawn_actor<int>([&](mailbox<int>& in) {
            for (const int n : in) sum += n;
        });
        adder.send(1);
        adder.send(2);
        const auto adder_end = adder.monitor();
        adder.close();
        EXPECT_EQ(end_of(adder_end), "normal");
        EXPECT_EQ(sum, 3);
    });
}

TEST_P(spawned_actors, need_no_attributes_beside_a_runtime) {
    const auto w = spawn_actor<worker>(rt);
    const auto ann = spawn_actor<account>(rt, 100);
    const auto both = spawn_actor<owner>(rt, std::make_unique<int>(40), 2);
    const auto f = spawn_actor<int>(rt, [](mailbox<int>& in) { in.receive(); });
    std::jthread thread([&] {
        EXPECT_EQ(ann.ask(account::balance{}), 100);
        EXPECT_EQ(both.ask(owner::value{}), 42);
        f.send(1);
        EXPECT_EQ(end_of(f.monitor()), "normal");
        w.stop();
        EXPECT_EQ(end_of(w.monitor()), "stopped");
    });
}

TEST_P(spawned_actors, take_attributes_that_are_kept_in_a_variable) {
    rt.run([&] {
        actor_attributes how{.name = "ann"};
        const auto ann = spawn_actor<account>(how, 1);
        const auto bob = spawn_actor<account>(rt, how, 2);
        EXPECT_EQ(ann.name(), "ann");
        EXPECT_EQ(bob.ask(account::balance{}), 2);
    });
}

TEST_P(spawned_actors, have_no_mailbox_that_backs_off) {
    EXPECT_THROW(static_cast<void>(spawn_actor<int>(rt, {.overflow = overflow::back_off}, [](mailbox<int>&) {})),
                 std::invalid_argument);
}

TEST_P(spawned_actors, have_the_stack_that_they_are_given) {
    rt.run([&] {
        const auto small = spawn_actor<subject>({.stack_bytes = 64 * kib});
        EXPECT_GT(small.ask(subject::stack{}), 32 * kib);
        EXPECT_LE(small.ask(subject::stack{}), 64 * kib);
        EXPECT_GT(spawn_actor<subject>({.stack_bytes = 1024 * kib}).ask(subject::stack{}), 512 * kib);
    });
}

TEST_P(spawned_actors, have_the_priority_that_they_are_given_or_that_of_their_starter) {
    rt.run([&] {
        EXPECT_EQ(spawn_actor<subject>().ask(subject::rank{}), priority::normal);
        EXPECT_EQ(spawn_actor<subject>({.priority = priority::low}).ask(subject::rank{}), priority::low);
        spawn({.priority = priority::high}, [] {
            EXPECT_EQ(spawn_actor<subject>().ask(subject::rank{}), priority::high);
            EXPECT_EQ(spawn_actor<subject>({.priority = priority::normal}).ask(subject::rank{}), priority::normal);
        }).join();
    });
}

TEST_P(spawned_actors, keep_their_priority_and_stack_when_a_supervisor_restarts_them) {
    rt.run([&] {
        supervisor s;
        const auto a = s.start<subject>({.stack_bytes = 64 * kib, .priority = priority::low});
        EXPECT_EQ(a.ask(subject::rank{}), priority::low);
        a.kill();
        EXPECT_TRUE(eventually_here([&] { return s.restarts() == 1; }));
        EXPECT_EQ(a.ask(subject::rank{}), priority::low);
        EXPECT_LE(a.ask(subject::stack{}), 64 * kib);
    });
}

TEST(spawned_actors_on_one_worker, keep_it_while_they_compute_if_they_are_not_preempted) {
    watched_runtime rt({.workers = 1, .time_slice = 2ms});
    std::atomic<bool> begun{false}, done{false};
    const auto hog = spawn_actor<worker>(rt, {.preempt = false});
    run_on(hog, [&] {
        begun = true;
        for (const auto end = std::chrono::steady_clock::now() + 100ms; std::chrono::steady_clock::now() < end;) {}
        done = true;
    });
    while (!begun) std::this_thread::yield();
    EXPECT_TRUE(rt.spawn([&] { return done.load(); }).join());
    EXPECT_EQ(rt.stats().hand_offs, 0u);
}

}  // namespace
}  // namespace weft::test
