// go_semantics_test.cpp - what Go's language definition, its memory model and its customs say of channels and select, told of ours.
//
// Where C++ or weft says otherwise on purpose, the test says so: close() twice is allowed; nil is a case that is switched off; cases are
// evaluated once each, but in the order in which C++ evaluates arguments.
#include <weft/select.hpp>

#include <weft/deadline.hpp>
#include <weft/scope.hpp>
#include <weft/ticker.hpp>

#include <algorithm>
#include <memory>
#include <numeric>
#include <variant>

#include "sync/crew.hpp"

namespace {

using weft::channel;
using weft::channel_op;
using weft::on_receive;
using weft::on_send;
using weft::otherwise;
using weft::select;
using weft::when;

constexpr auto nothing = [](auto&&...) {};

// ---- Which operations can go on, by the state of the channel

enum class result { waits, done, end, refused };

enum class state { unbuffered, empty, half_full, full, closed_empty, closed_with_values };
constexpr state all_states[] = {state::unbuffered, state::empty,        state::half_full,
                                state::full,       state::closed_empty, state::closed_with_values};

channel<int> made_in(state s) {
    channel<int> c(s == state::unbuffered ? 0 : 2);
    if (s == state::half_full || s == state::full || s == state::closed_with_values) c.send(1);
    if (s == state::full) c.send(2);
    if (s == state::closed_empty || s == state::closed_with_values) c.close();
    return c;
}

result expected_of_receive(state s) {
    switch (s) {
        case state::unbuffered:
        case state::empty: return result::waits;
        case state::half_full:
        case state::full:
        case state::closed_with_values: return result::done;
        case state::closed_empty: return result::end;
    }
    return {};
}

result expected_of_send(state s) {
    switch (s) {
        case state::unbuffered:
        case state::full: return result::waits;
        case state::empty:
        case state::half_full: return result::done;
        case state::closed_empty:
        case state::closed_with_values: return result::refused;
    }
    return {};
}

/// What f does: f returns whether a value was moved. It may take its time where it is not to wait.
template <class F>
result result_of(result expected, F f) {
    try {
        return weft::with_timeout(expected == result::waits ? std::chrono::milliseconds(1) : 20s, f) ? result::done : result::end;
    } catch (const weft::timeout_error&) {
        return result::waits;
    } catch (const weft::channel_closed&) {
        return result::refused;
    }
}

TEST(go_channels, seed_Q3_receive_waits_takes_or_ends_as_the_state_says) {
    for (const auto s : all_states) {
        SCOPED_TRACE(static_cast<int>(s));
        const auto expected = expected_of_receive(s);
        EXPECT_EQ(result_of(expected, [&] { return made_in(s).receive().has_value(); }), expected);
        EXPECT_EQ(result_of(expected,
                            [&] {
                                bool got = false;
                                select(on_receive(made_in(s), [&](auto v) { got = v.has_value(); }));
                                return got;
                            }),
                  expected);
        EXPECT_EQ(select(on_receive(made_in(s), nothing), otherwise()) == 1, expected == result::waits);
        int v;
        const auto op = made_in(s).try_receive_op(v);
        EXPECT_EQ(op, expected == result::waits  ? channel_op::empty
                      : expected == result::done ? channel_op::done
                                                 : channel_op::closed);
    }
}

TEST(go_channels, seed_Q3_send_waits_puts_or_fails_as_the_state_says) {
    for (const auto s : all_states) {
        SCOPED_TRACE(static_cast<int>(s));
        const auto expected = expected_of_send(s);
        const auto sends = [&] {
            made_in(s).send(3);
            return true;
        };
        const auto selects = [&] {
            select(on_send(made_in(s), 3));
            return true;
        };
        const auto looks = [&] {
            select(on_send(made_in(s), 3), otherwise([] { throw weft::timeout_error(); }));
            return true;
        };
        EXPECT_EQ(result_of(expected, sends), expected);
        EXPECT_EQ(result_of(expected, selects), expected);
        EXPECT_EQ(result_of(expected, looks), expected);
        EXPECT_EQ(made_in(s).try_send_op(3), expected == result::waits  ? channel_op::full
                                             : expected == result::done ? channel_op::done
                                                                        : channel_op::closed);
    }
}

TEST(go_channels, seed_Q3_a_nil_channel_is_a_case_switched_off) {
    const auto c = made_in(state::half_full);
    EXPECT_EQ(select(when(false, on_receive(c, nothing)), when(false, on_send(c, 1)), otherwise()), 2u);
    EXPECT_EQ(result_of(result::waits,
                        [&] {
                            select(when(false, on_receive(c, nothing)));
                            return true;
                        }),
              result::waits);
    EXPECT_EQ(c.size(), 1u);
}

TEST(go_channels, seed_Q4_a_select_without_cases_waits_for_ever) {
    EXPECT_EQ(result_of(result::waits,
                        [] {
                            select(std::span<weft::select_case>());
                            return true;
                        }),
              result::waits);
    EXPECT_EQ(result_of(result::waits,
                        [] {
                            weft::select_all({});
                            return true;
                        }),
              result::waits);
}

TEST(go_channels, seed_Q3_len_and_cap) {
    EXPECT_EQ(channel<int>().capacity(), 0u);
    for (const auto s : {state::empty, state::half_full, state::full}) {
        EXPECT_EQ(made_in(s).capacity(), 2u);
        EXPECT_EQ(made_in(s).size(), static_cast<std::size_t>(s) - static_cast<std::size_t>(state::empty));
    }
    EXPECT_EQ(made_in(state::closed_with_values).size(), 1u);
}

TEST(go_channels, seed_Q3_channels_are_equal_when_one_was_made_from_the_other) {
    const channel<int> a(1), b(1);
    const auto same = a;
    EXPECT_TRUE(a == same && a != b);
}

TEST(go_channels, seed_Q3_elements_may_be_of_no_size_and_channels_themselves) {
    weft::run([] {
        const channel<std::monostate> done;
        const channel<channel<int>> requests;  // each with the way back
        const auto server = weft::spawn([=] {
            int n = 0;
            for (const auto& answer : requests) answer.send(++n);
            done.send({});
        });
        for (int i = 1; i <= 3; ++i) {
            const channel<int> answer;
            requests.send(answer);
            EXPECT_EQ(answer.receive(), i);
        }
        requests.close();
        EXPECT_TRUE(done.receive().has_value());
    });
}

TEST(go_channels, seed_Q3_a_range_that_is_left_leaves_the_rest) {
    channel<int> c(3);
    for (int i = 1; i <= 3; ++i) c.send(i);
    for (const int v : c)
        if (v == 2) break;
    EXPECT_EQ(c.receive(), 3);
}

// ---- Select

TEST(go_select, seed_Q4_each_case_is_evaluated_once_chosen_or_not) {
    const channel<int> ready(1), idle;
    int channels = 0, values = 0;
    const auto of = [&](const channel<int>& c) {
        ++channels;
        return c;
    };
    const auto value = [&] { return ++values; };
    EXPECT_EQ(select(on_receive(of(idle), nothing), on_send(of(idle), value()), on_send(of(ready), value())), 2u);
    EXPECT_EQ(channels, 3);
    EXPECT_EQ(values, 2);
}

TEST(go_select, seed_Q4_a_send_to_a_closed_channel_fails_only_if_it_is_chosen) {
    const auto closed = made_in(state::closed_empty);
    int failures = 0, others = 0;
    for (int i = 0; i < 1'000; ++i) {
        try {
            select(on_send(closed, 1), on_receive(closed, [&](auto) { ++others; }));
        } catch (const weft::channel_closed&) {
            ++failures;
        }
    }
    EXPECT_EQ(failures + others, 1'000);
    EXPECT_GT(failures, 300);  // 500, and 12 standard deviations
    EXPECT_GT(others, 300);
}

TEST(go_select, seed_Q4_exactly_one_case_happens) {
    for (const unsigned workers : {1u, 2u, 4u, 8u}) {
        crew all(workers);
        const channel<int> in, out;
        constexpr int n = 300;
        std::atomic<int> received{0}, sent{0}, taken{0};
        all.start(party::fiber, [&] {
            for (int i = 0; i < 2 * n; ++i) select(on_receive(in, [&](auto) { ++received; }), on_send(out, i, [&] { ++sent; }));
        });
        all.start(party::fiber, [&] {
            for (int i = 0; i < n; ++i) in.send(i);
        });
        all.start(party::thread, [&] {
            for (int i = 0; i < n; ++i, ++taken) out.receive();
        });
        all.finish();
        EXPECT_EQ(received, n);
        EXPECT_EQ(sent, n);
        EXPECT_EQ(taken, n);
    }
}

// ---- The memory model: what happens before what. The variables are plain; ThreadSanitizer judges.

class go_memory_model : public testing::TestWithParam<setting> {
protected:
    setting who() const { return GetParam(); }
    crew all{who().workers};
};
INSTANTIATE_TEST_SUITE_P(all, go_memory_model, testing::ValuesIn(all_settings()), [](const auto& p) { return name_of(p.param); });

TEST_P(go_memory_model, seed_Q10_a_send_happens_before_its_receive_completes) {
    for (int round = 0; round < 50; ++round)
        for (const std::size_t capacity : {0, 10}) {
            const channel<int> c(capacity);
            std::string text;
            all.start(who().left, [&] {
                text = "written";
                c.send(0);
            });
            all.start(who().right, [&] {
                c.receive();
                EXPECT_EQ(text, "written");
            });
            all.finish();
        }
}

TEST_P(go_memory_model, seed_Q10_a_close_happens_before_the_receive_that_hears_of_it) {
    for (int round = 0; round < 50; ++round) {
        const channel<int> c;
        std::string text;
        all.start(who().left, [&] {
            text = "written";
            c.close();
        });
        for (int i = 0; i < 3; ++i)
            all.start(who().right, [&] {
                EXPECT_FALSE(c.receive());
                EXPECT_EQ(text, "written");
            });
        all.finish();
    }
}

TEST_P(go_memory_model, seed_Q10_without_a_buffer_a_receive_happens_before_its_send_completes) {
    for (int round = 0; round < 50; ++round) {
        const channel<int> c;
        std::string text;
        all.start(who().left, [&] {
            text = "written";
            c.receive();
        });
        all.start(who().right, [&] {
            c.send(0);
            EXPECT_EQ(text, "written");
        });
        all.finish();
    }
}

TEST_P(go_memory_model, seed_Q10_a_buffer_of_n_lets_n_in_at_a_time) {
    constexpr std::size_t most = 3;
    const channel<int> places(most);
    std::array<int, most> inside{};  // plain: a place is one party's until it gives it back
    channel<std::size_t> free(most);
    for (std::size_t i = 0; i < most; ++i) free.send(i);
    std::atomic<int> now{0}, ever{0};
    for (int p = 0; p < 8; ++p)
        all.start(p % 2 ? who().left : who().right, [&] {
            for (int i = 0; i < 100; ++i) {
                places.send(0);
                int seen = ++now, before = ever;
                while (seen > before && !ever.compare_exchange_weak(before, seen)) {}
                const auto mine = free.receive().value();
                ++inside[mine];
                free.send(mine);
                --now;
                places.receive();
            }
        });
    all.finish();
    EXPECT_LE(ever, static_cast<int>(most));
    EXPECT_EQ(std::accumulate(inside.begin(), inside.end(), 0), 800);
}

TEST_P(go_memory_model, seed_Q10_select_orders_as_the_bare_operations_do) {
    for (int round = 0; round < 50; ++round) {
        const channel<int> c, idle;
        std::string there, back;
        all.start(who().left, [&] {
            there = "there";
            select(on_receive(idle, nothing), on_send(c, 0));
            EXPECT_EQ(back, "back");
        });
        all.start(who().right, [&] {
            back = "back";
            select(on_receive(c, nothing), on_receive(idle, nothing));
            EXPECT_EQ(there, "there");
        });
        all.finish();
    }
}

// ---- Customs

TEST(go_customs, seed_Q3_closing_tells_everybody) {
    crew all(2);
    const channel<std::monostate> done;
    std::atomic<int> told{0};
    for (int i = 0; i < 50; ++i)
        all.start(i % 5 ? party::fiber : party::thread, [&] {
            done.receive();
            ++told;
        });
    done.close();
    all.finish();
    EXPECT_EQ(told, 50);
}

TEST(go_customs, seed_Q3_a_sieve_of_filters_finds_the_primes) {
    weft::run([] {
        weft::with_scope([](weft::scope& s) {
            channel<int> numbers;
            s.spawn([out = numbers] {
                for (int n = 2;; ++n) out.send(n);
            });
            std::vector<int> primes;
            while (primes.size() < 30) {
                const int prime = numbers.receive().value();
                primes.push_back(prime);
                channel<int> rest;
                s.spawn([in = numbers, out = rest, prime] {
                    for (const int n : in)
                        if (n % prime != 0) out.send(n);
                });
                numbers = rest;
            }
            EXPECT_EQ(primes.front(), 2);
            EXPECT_EQ(primes.back(), 113);
            s.request_stop();
        });
    });
}

TEST(go_customs, seed_Q4_a_fan_in_ends_when_all_its_inputs_have) {
    weft::run([] {
        const channel<int> a, b, merged(4);
        weft::with_scope([&](weft::scope& s) {
            for (const auto& c : {a, b})
                s.spawn([=] {
                    for (int i = 1; i <= 100; ++i) c.send(i);
                    c.close();
                });
            s.spawn([=] {
                bool a_open = true, b_open = true;
                const auto pass = [&](bool& open) {
                    return [&](std::optional<int> v) { v ? merged.send(*v) : void(open = false); };
                };
                while (a_open || b_open)
                    select(when(a_open, on_receive(a, pass(a_open))), when(b_open, on_receive(b, pass(b_open))));
                merged.close();
            });
            int sum = 0;
            for (const int v : merged) sum += v;
            EXPECT_EQ(sum, 2 * 5050);
        });
    });
}

TEST(go_customs, seed_Q4_a_receive_with_a_limit_of_time) {
    weft::run([] {
        const channel<int> never;
        EXPECT_EQ(select(on_receive(never, nothing), on_receive(weft::after(2ms), nothing)), 1u);
        EXPECT_EQ(select(on_receive(never, nothing), weft::on_timeout(2ms)), 1u);
    });
}

TEST(go_customs, seed_Q3_a_pool_of_workers_answers_each_job_once) {
    weft::run([] {
        const channel<int> jobs(10), results(10);
        weft::with_scope([&](weft::scope& s) {
            for (int w = 0; w < 3; ++w)
                s.spawn([=, out = results.tx()] {
                    for (const int j : jobs) out.send(j * j);
                });
            s.spawn([=] {
                for (int j = 0; j < 200; ++j) jobs.send(j);
                jobs.close();
            });
            std::vector<int> got;
            for (const int r : results) got.push_back(r);  // closed with the last worker's sender
            std::ranges::sort(got);
            ASSERT_EQ(got.size(), 200u);
            for (int j = 0; j < 200; ++j) EXPECT_EQ(got[static_cast<std::size_t>(j)], j * j);
        });
    });
}

TEST(go_customs, seed_Q3_a_chain_of_thousands_passes_a_value_on) {
    constexpr int n = 10'000;
    weft::run([&] {
        weft::with_scope([&](weft::scope& s) {
            const channel<int> first;
            auto right = first;
            for (int i = 0; i < n; ++i) {
                const channel<int> left;
                s.spawn([=] { left.send(right.receive().value() + 1); });
                right = left;
            }
            first.send(0);
            EXPECT_EQ(right.receive(), n);
        });
    });
}

}  // namespace
