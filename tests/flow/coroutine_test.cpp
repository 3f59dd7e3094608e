// coroutine_test.cpp - coroutine<>: call, yield, state, ends of every kind.
#include <weft/coroutine.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "arch/coroutine_slot.hpp"

namespace weft {
namespace {

static_assert(!std::is_move_constructible_v<coroutine<>> && !std::is_copy_constructible_v<coroutine<>>);
static_assert(!std::is_constructible_v<coroutine<>, void (*)(int)>);

int calls_of_function = 0;
void plain_function() { ++calls_of_function; }

struct counter {
    int n = 0;
    void count() {
        for (;;) {
            ++n;
            coroutine<>::yield();
        }
    }
};

TEST(coroutine, seed_D1_is_made_from_a_function_a_bound_method_or_a_closure) {
    coroutine<> from_function(plain_function);
    from_function.call();
    EXPECT_EQ(calls_of_function, 1);

    counter c;
    coroutine<> from_method(std::bind_front(&counter::count, &c));
    from_method.call();
    from_method.call();
    EXPECT_EQ(c.n, 2);

    auto only_movable = std::make_unique<int>(0);
    coroutine<> from_closure([&c, p = std::move(only_movable)] { c.n = ++*p + 100; });
    from_closure.call();
    EXPECT_EQ(c.n, 101);
}

class accumulator : public coroutine<> {
public:
    explicit accumulator(int step) : coroutine(&accumulator::run), step_(step) {}
    ~accumulator() override { unwind(); }
    int total = 0;
    std::vector<int> history;

private:
    void run() {
        struct note {
            accumulator& a;
            ~note() { a.history.push_back(-1); }   // members are still there
        } const at_end{*this};
        for (;;) {
            total += step_;
            history.push_back(total);
            yield();
        }
    }
    int step_;
};

TEST(coroutine, seed_D2_a_derived_class_carries_data_and_names_its_method) {
    accumulator a(3);
    accumulator b(5);
    for (int n = 0; n < 4; ++n) a.call(), b.call();
    EXPECT_EQ(a.total, 12);
    EXPECT_EQ(b.total, 20);
    std::unique_ptr<coroutine<>> through_its_base = std::make_unique<accumulator>(1);
    through_its_base->call();
    through_its_base.reset();
}

TEST(coroutine, seed_D3_call_runs_to_the_next_yield_and_the_caller_goes_on_behind_it) {
    std::string trace;
    coroutine<> c([&] {
        trace += "1";
        coroutine<>::yield();
        trace += "3";
        coroutine<>::yield();
        trace += "5";
    });
    trace += "0";
    c.call();
    trace += "2";
    c.call();
    trace += "4";
    c.call();
    trace += "6";
    EXPECT_EQ(trace, "0123456");
}

TEST(coroutine, seed_D4_locals_survive_a_yield) {
    int seen = 0;
    coroutine<> c([&] {
        int local = 5;
        std::array<char, 4096> large;
        large.fill('x');
        coroutine<>::yield();
        local *= 2;
        seen = local;
        EXPECT_EQ(std::string(large.begin(), large.end()), std::string(4096, 'x'));
    });
    c.call();
    EXPECT_EQ(seen, 0);
    c.call();
    EXPECT_EQ(seen, 10);
}

// NOLINTNEXTLINE(misc-no-recursion)
void yields_at_depth(int depth) {
    if (depth > 0) yields_at_depth(depth - 1);
    coroutine<>::yield();
}

TEST(coroutine, seed_D4_yield_works_at_any_depth_of_calls) {
    coroutine<> c([] { yields_at_depth(100); });
    int calls = 0;
    for (; c.state() != coroutine_state::done; ++calls) c.call();
    EXPECT_EQ(calls, 102);
}

TEST(coroutine, seed_D5_state_is_done_exactly_when_the_function_has_returned) {
    std::optional<coroutine<>> c;
    std::vector<coroutine_state> inside;
    c.emplace([&] {
        inside.push_back(c->state());
        coroutine<>::yield();
        inside.push_back(c->state());
    });
    EXPECT_EQ(c->state(), coroutine_state::suspended);
    c->call();
    EXPECT_EQ(c->state(), coroutine_state::suspended);
    c->call();
    EXPECT_EQ(c->state(), coroutine_state::done);
    EXPECT_EQ(inside, (std::vector{coroutine_state::running, coroutine_state::running}));
}

TEST(coroutine, seed_D6_calling_a_done_one_is_refused_and_it_can_be_dropped) {
    auto c = std::make_unique<coroutine<>>([] {});
    c->call();
    for (int n = 0; n < 2; ++n) {
        try {
            c->call();
            FAIL();
        } catch (coroutine_done const& e) {
            EXPECT_STREQ(e.what(), "the coroutine is done and cannot be called");
        }
    }
    c.reset();
    EXPECT_EQ(c, nullptr);
}

TEST(coroutine, seed_D6_stacks_of_dropped_coroutines_are_used_again) {
    std::vector<void*> frames;
    for (int n = 0; n < 100; ++n) {
        coroutine<> c([&] { frames.push_back(__builtin_frame_address(0)); });
        c.call();
    }
    EXPECT_EQ(std::count(frames.begin(), frames.end(), frames.front()), 100);
}

TEST(coroutine, seed_D7_a_loop_over_an_array_ends_when_all_have_ended) {
    std::array<std::unique_ptr<coroutine<>>, 20> all;
    std::array<int, 20> fed{};
    for (std::size_t n = 0; n < all.size(); ++n)
        all[n] = std::make_unique<coroutine<>>([&fed, n] {
            while (fed[n] < static_cast<int>(n)) {
                ++fed[n];
                coroutine<>::yield();
            }
        });
    std::size_t ended = 0;
    while (ended < all.size())
        for (auto& c : all) {
            if (!c) continue;
            if (c->state() == coroutine_state::done) {
                ++ended;
                c = nullptr;
                continue;
            }
            c->call();
        }
    for (std::size_t n = 0; n < all.size(); ++n) EXPECT_EQ(fed[n], static_cast<int>(n));
}

TEST(coroutine, seed_D8_D9_an_endless_breather_shares_a_variable_with_the_walker_without_a_lock) {
    int breath_to_take = 0;
    int taken = 0;
    int needed = 0;
    coroutine<> breathing([&] {
        for (;;) {
            taken += breath_to_take;
            breath_to_take = 0;
            coroutine<>::yield();
        }
    });
    for (int second = 0; second < 100'000; ++second) {
        breath_to_take += second % 7;
        needed += second % 7;
        breathing.call();
        ASSERT_EQ(breath_to_take, 0);
    }
    EXPECT_EQ(taken, needed);
    EXPECT_EQ(breathing.state(), coroutine_state::suspended);
}

TEST(coroutine, nested_ones_yield_to_their_own_callers) {
    std::string trace;
    coroutine<> inner([&] {
        trace += "i";
        coroutine<>::yield();
        trace += "j";
    });
    coroutine<> outer([&] {
        inner.call();
        trace += "o";
        coroutine<>::yield();
        EXPECT_EQ(inner.state(), coroutine_state::suspended);
        inner.call();
        trace += "p";
    });
    outer.call();
    EXPECT_EQ(trace, "io");
    EXPECT_EQ(inner.state(), coroutine_state::suspended);
    outer.call();
    EXPECT_EQ(trace, "iojp");
}

TEST(coroutine, an_exception_leaves_through_the_callers_call_and_ends_it) {
    coroutine<> c([] {
        coroutine<>::yield();
        throw std::runtime_error("spilt");
    });
    c.call();
    try {
        c.call();
        FAIL();
    } catch (std::runtime_error const& e) {
        EXPECT_STREQ(e.what(), "spilt");
    }
    EXPECT_EQ(c.state(), coroutine_state::done);
    EXPECT_THROW(c.call(), coroutine_done);
    EXPECT_EQ(detail::current_coroutine().innermost, nullptr);
}

TEST(coroutine, an_exception_passes_through_nested_calls) {
    coroutine<> inner([] { throw 42; });
    coroutine<> outer([&] { inner.call(); });
    EXPECT_THROW(outer.call(), int);
    EXPECT_EQ(inner.state(), coroutine_state::done);
    EXPECT_EQ(outer.state(), coroutine_state::done);
}

TEST(coroutine, yields_inside_a_handler_and_rethrows_its_own_exception) {
    std::string got;
    coroutine<> c([&] {
        try {
            throw std::runtime_error("mine");
        } catch (std::runtime_error&) {
            coroutine<>::yield();
            try {
                throw;
            } catch (std::exception& e) {
                got = e.what();
            }
        }
    });
    try {
        throw std::logic_error("callers");
    } catch (std::logic_error&) {
        c.call();
    }
    std::thread([&] { c.call(); }).join();
    EXPECT_EQ(got, "mine");
}

struct sets_when_destroyed {
    bool& flag;
    ~sets_when_destroyed() { flag = true; }
};

TEST(coroutine, destroying_a_suspended_one_unwinds_its_stack) {
    bool unwound = false;
    bool went_on = false;
    bool seen_as_std_exception = false;
    {
        coroutine<> c([&] {
            sets_when_destroyed const guard{unwound};
            try {
                coroutine<>::yield();
                went_on = true;
            } catch (std::exception const&) {
                seen_as_std_exception = true;
            }
        });
        c.call();
        EXPECT_FALSE(unwound);
    }
    EXPECT_TRUE(unwound);
    EXPECT_FALSE(went_on);
    EXPECT_FALSE(seen_as_std_exception);
}

TEST(coroutine, destroying_one_that_never_started_runs_nothing_but_destroys_its_closure) {
    bool ran = false;
    auto shared = std::make_shared<int>(1);
    {
        coroutine<> c([&ran, shared] { ran = true; });
        EXPECT_EQ(shared.use_count(), 2);
    }
    EXPECT_FALSE(ran);
    EXPECT_EQ(shared.use_count(), 1);
}

TEST(coroutine, a_body_that_catches_everything_is_unwound_at_its_next_yield) {
    int yields = 0;
    {
        coroutine<> c([&] {
            for (int n = 0; n < 3; ++n) {
                try {
                    ++yields;
                    coroutine<>::yield();
                } catch (...) {}
            }
        });
        c.call();
    }
    EXPECT_EQ(yields, 3);
}

TEST(coroutine, a_yield_in_a_destructor_does_nothing_while_the_coroutine_is_unwound) {
    struct yields_when_destroyed {
        int& passed;
        ~yields_when_destroyed() {
            coroutine<>::yield();
            ++passed;
        }
    };
    int passed = 0;
    {
        coroutine<> c([&] {
            yields_when_destroyed const last{passed};
            coroutine<>::yield();
        });
        c.call();
    }
    EXPECT_EQ(passed, 1);
}

TEST(coroutine, one_that_calls_others_is_unwound_with_them) {
    std::string order;
    struct appends {
        std::string& to;
        char what;
        ~appends() { to += what; }
    };
    {
        coroutine<> outer([&] {
            appends const a{order, 'o'};
            coroutine<> inner([&] {
                appends const b{order, 'i'};
                coroutine<>::yield();
            });
            inner.call();
            coroutine<>::yield();
        });
        outer.call();
    }
    EXPECT_EQ(order, "io");
}

TEST(coroutine, is_destroyed_while_an_exception_is_in_flight) {
    bool unwound = false;
    try {
        coroutine<> c([&] {
            sets_when_destroyed const guard{unwound};
            coroutine<>::yield();
        });
        c.call();
        throw 7;
    } catch (int n) {
        EXPECT_EQ(n, 7);
    }
    EXPECT_TRUE(unwound);
}

TEST(coroutine, goes_on_on_other_threads) {
    std::vector<std::thread::id> ids;
    coroutine<> c([&] {
        for (int n = 0; n < 8; ++n) {
            ids.push_back(std::this_thread::get_id());
            coroutine<>::yield();
        }
    });
    for (int n = 0; n < 8; ++n)
        std::thread([&] {
            c.call();
            EXPECT_EQ(ids.back(), std::this_thread::get_id());
        }).join();
    EXPECT_EQ(ids.size(), 8U);
}

// What a runtime does: the slot belongs to a fiber, which goes on elsewhere in the middle of a coroutine.
detail::coroutine_slot slot_of_fiber;

TEST(coroutine, yield_finds_the_innermost_one_by_the_slot_it_is_told) {
    auto const before = detail::set_coroutine_slot_finder([]() noexcept -> detail::coroutine_slot& { return slot_of_fiber; });
    coroutine<> c([] { coroutine<>::yield(); });
    c.call();
    EXPECT_EQ(slot_of_fiber.innermost, nullptr);
    EXPECT_EQ(c.state(), coroutine_state::suspended);
    c.call();
    detail::set_coroutine_slot_finder(before);
    EXPECT_EQ(c.state(), coroutine_state::done);
}

TEST(coroutine, seed_D10_each_transfers_straight_to_the_next_without_a_central_loop) {
    constexpr int members = 5;
    constexpr int rounds = 4;
    std::deque<coroutine<>> ring;
    std::array<int, members> fed{};
    int done = 0;
    for (std::size_t n = 0; n < members; ++n)
        ring.emplace_back([&, n] {
            while (fed[n] < rounds) {
                ++fed[n];
                coroutine<>::transfer_to(ring[(n + 1) % members]);
            }
            ++done;
        });
    int calls = 0;
    for (auto& c : ring)
        while (c.state() != coroutine_state::done) {
            ++calls;
            c.call();
        }
    EXPECT_EQ(fed, (std::array{4, 4, 4, 4, 4}));
    EXPECT_EQ(done, members);
    EXPECT_EQ(calls, members);   // the ring itself took one; the others were called to their ends
}

TEST(coroutine, what_it_transferred_to_throws_through_the_first_ones_caller) {
    coroutine<> b([] { throw std::runtime_error("b"); });
    coroutine<> a([&] { coroutine<>::transfer_to(b); });
    EXPECT_THROW(a.call(), std::runtime_error);
    EXPECT_EQ(a.state(), coroutine_state::suspended);
    EXPECT_EQ(b.state(), coroutine_state::done);
    a.call();
    EXPECT_EQ(a.state(), coroutine_state::done);
}

TEST(coroutine, seed_D10_transferring_to_one_that_is_done_is_refused_and_the_ring_goes_on) {
    coroutine<> ended([] {});
    ended.call();
    int refused = 0;
    coroutine<> c([&] {
        try {
            coroutine<>::transfer_to(ended);
        } catch (coroutine_done const&) {
            ++refused;
        }
        coroutine<>::yield();
    });
    c.call();
    EXPECT_EQ(refused, 1);
    EXPECT_EQ(c.state(), coroutine_state::suspended);
}

TEST(coroutine, seed_D10_a_suspended_transfer_is_unwound_when_its_coroutine_is_destroyed) {
    bool unwound = false;
    {
        coroutine<> next([] { coroutine<>::yield(); });
        coroutine<> c([&] {
            sets_when_destroyed const guard{unwound};
            coroutine<>::transfer_to(next);
        });
        c.call();
        EXPECT_FALSE(unwound);
    }
    EXPECT_TRUE(unwound);
}

TEST(coroutine, seed_D10_a_chain_of_transfers_returns_to_the_caller_of_the_first) {
    std::string trace;
    coroutine<> c([&] {
        trace += "c";
        coroutine<>::yield();
        trace += "!";
    });
    coroutine<> b([&] {
        trace += "b";
        coroutine<>::transfer_to(c);
    });
    coroutine<> a([&] {
        trace += "a";
        coroutine<>::transfer_to(b);
    });
    coroutine<> outer([&] {
        a.call();
        trace += "o";
        c.call();
    });
    outer.call();
    EXPECT_EQ(trace, "abco!");
    EXPECT_EQ(outer.state(), coroutine_state::done);
}

TEST(coroutine, stack_size_is_an_option) {
    coroutine<> c(
        [] {
            std::array<char, 600 * 1024> large;
            std::memset(large.data(), 1, large.size());
            asm volatile("" : : "r"(large.data()) : "memory");
        },
        {.stack_bytes = 1024 * 1024});
    c.call();
    EXPECT_EQ(c.state(), coroutine_state::done);
    for (const std::size_t absurd : {std::size_t{1} << 60, ~std::size_t{0}}) {
        EXPECT_THROW(coroutine<>([] {}, {.stack_bytes = absurd}), std::system_error);
        EXPECT_THROW(coroutine<>([large = std::array<char, 100'000>()] { (void)large; }, {.stack_bytes = absurd}),
                     std::system_error);
    }
}

TEST(coroutine, large_and_over_aligned_closures_fit) {
    struct alignas(256) big {
        std::array<char, 100'000> bytes{};
    };
    big b;
    b.bytes[99'999] = 'z';
    char seen = 0;
    bool aligned = false;
    coroutine<> c([&seen, &aligned, b] {
        seen = b.bytes[99'999];
        aligned = reinterpret_cast<std::uintptr_t>(&b) % 256 == 0;
    });
    c.call();
    EXPECT_EQ(seen, 'z');
    EXPECT_TRUE(aligned);
}

TEST(coroutine, a_closure_that_cannot_be_moved_in_leaves_nothing_behind) {
    struct refuses {
        refuses() = default;
        refuses(refuses const&) { throw std::runtime_error("no copy"); }
        void operator()() const {}
    };
    refuses const r;
    EXPECT_THROW(coroutine<>{r}, std::runtime_error);
}

TEST(coroutine, misuse_stops_the_program_naming_the_rule) {
    EXPECT_DEATH(coroutine<>::yield(), "inside a coroutine");
    EXPECT_DEATH(
        {
            coroutine<> c([] {});
            coroutine<>::transfer_to(c);
        },
        "inside a coroutine");
    EXPECT_DEATH(
        {
            std::optional<coroutine<>> c;
            c.emplace([&] { coroutine<>::transfer_to(*c); });
            c->call();
        },
        "a running coroutine cannot be called");
    EXPECT_DEATH(
        {
            std::optional<coroutine<>> c;
            c.emplace([&] { c->call(); });
            c->call();
        },
        "a running coroutine cannot be called");
    EXPECT_DEATH(
        {
            auto c = std::make_unique<std::optional<coroutine<>>>();
            c->emplace([&] { c->reset(); });
            (*c)->call();
        },
        "destroyed while it is running");
    EXPECT_DEATH(
        {
            coroutine<> c([] {
                try {
                    coroutine<>::yield();
                } catch (...) {
                    throw std::runtime_error("instead");
                }
            });
            c.call();
        },
        "instead");
}

TEST(coroutine, seed_L3_a_thousand_at_once_all_come_to_their_end) {
    std::deque<coroutine<>> all;
    int sum = 0;
    for (int n = 0; n < 1000; ++n)
        all.emplace_back([&sum] {
            int local = 5;
            coroutine<>::yield();
            local *= 2;
            sum += local;
        });
    for (int round = 0; round < 2; ++round)
        for (auto& c : all) c.call();
    for (auto& c : all) EXPECT_EQ(c.state(), coroutine_state::done);
    EXPECT_EQ(sum, 10'000);
}

TEST(coroutine, stress_many_are_made_called_and_dropped_on_several_threads) {
    auto const churn = [] {
        for (int n = 0; n < 300; ++n) {
            std::deque<coroutine<>> some;
            int ends = 0;
            for (int k = 0; k < 10; ++k)
                some.emplace_back([&ends, k] {
                    for (int i = 0; i < k; ++i) {
                        try {
                            coroutine<>::yield();
                            if (i % 3 == 2) throw i;
                        } catch (int) {
                            coroutine<>::yield();
                        }
                    }
                    ++ends;
                });
            for (int round = 0; round < 6; ++round)
                for (auto& c : some)
                    if (c.state() != coroutine_state::done) c.call();
            ASSERT_GE(ends, 4);
        }
    };
    std::vector<std::thread> threads;
    for (int n = 0; n < 4; ++n) threads.emplace_back(churn);
    for (auto& t : threads) t.join();
}

TEST(coroutine, is_called_under_three_names) {
    int steps = 0;
    coroutine<> c([&] {
        for (; steps < 3; coroutine<>::yield()) ++steps;
    });
    c();
    c.resume();
    c.call();
    EXPECT_EQ(steps, 3);
    EXPECT_FALSE(c.done());
    c();
    EXPECT_TRUE(c.done());
    EXPECT_THROW(c(), coroutine_done);
}

}  // namespace
}  // namespace weft
