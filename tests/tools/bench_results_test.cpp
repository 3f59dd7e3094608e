// bench_results_test.cpp - what `weft bench` measures: every benchmark at a small size, and the lines it prints about it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "../../tools/weft/bench/workloads/curves.hpp"
#include "../../tools/weft/bench/workloads/feed_limits.hpp"
#include "support/scale.hpp"
#include "tools/support/finished.hpp"

namespace {

using nlohmann::ordered_json;
using testing::HasSubstr;
using testing::IsEmpty;
using weft::test::lines_of;
using weft::test::run_weft;
using weft::test::sanitized;

/// The results of a small run.
class results {
public:
    explicit results(const std::string& name, const std::string& n = "10", const std::string& workers = "1,2",
                     const std::vector<std::string>& more = {}) {
        std::vector<std::string> words{"bench", name, "--n", n, "--workers", workers, "--json", "-"};
        if (std::ranges::find(more, "--runs") == more.end()) words.insert(words.end(), {"--runs", "2"});
        words.insert(words.end(), more.begin(), more.end());
        const auto weft = run_weft(words);
        EXPECT_EQ(weft.code, 0) << weft.errors;
        EXPECT_EQ(weft.errors, "") << "no terminal, so no progress";
        for (const auto& line : lines_of(weft.output)) all_.push_back(ordered_json::parse(line));
    }
    const std::vector<ordered_json>& all() const { return all_; }

    /// The variants with this unit, each once.
    std::set<std::string> variants(const std::string& unit) const {
        std::set<std::string> found;
        for (const auto& r : all_)
            if (r["unit"] == unit) found.insert(r["variant"]);
        return found;
    }
    /// The first result of this variant, and of this size if one is named.
    ordered_json of(const std::string& variant, std::optional<int> n = std::nullopt) const {
        const auto found =
            std::ranges::find_if(all_, [&](const auto& r) { return r["variant"] == variant && (!n || r["n"] == *n); });
        if (found != all_.end()) return *found;
        ADD_FAILURE() << "no result " << variant;
        return {{"min", 0}, {"median", 0}, {"max", 0}, {"runs", 0}, {"n", 0}, {"workers", 0}};
    }

private:
    std::vector<ordered_json> all_;
};

void expect_figures(const results& measured, const std::string& unit, const std::set<std::string>& wanted) {
    const auto found = measured.variants(unit);
    for (const auto& variant : wanted) EXPECT_TRUE(found.contains(variant)) << "no result " << variant << " in " << unit;
}

class every_benchmark : public testing::TestWithParam<const char*> {};

TEST_P(every_benchmark, prints_lines_of_the_agreed_form) {
    const std::string name = GetParam();
    std::vector<std::string> less;
    if (name == "preempt") less = {"--kinds", "loop,sleep", "--hogs", "1,2"};
    if (name == "feed") less = {"--nutrients", "10,100"};
    const results measured(name, "10", "1,2", less);
    ASSERT_FALSE(measured.all().empty());
    for (const auto& r : measured.all()) {
        std::vector<std::string> keys;
        for (const auto& field : r.items()) keys.push_back(field.key());
        EXPECT_THAT(keys, testing::ElementsAre("bench", "variant", "workers", "n", "unit", "min", "median", "max", "runs"));
        EXPECT_EQ(r["bench"], name);
        EXPECT_THAT(r["variant"].get<std::string>(),
                    testing::MatchesRegex("(fibers|threads|coroutines|calls|reductions)/[-a-z0-9./]+"))
            << r;
        EXPECT_GE(r["workers"].get<unsigned>(), 1u) << r;
        EXPECT_GE(r["n"].get<unsigned>(), 1u) << r;
        EXPECT_GE(r["runs"].get<unsigned>(), 1u) << r;
        EXPECT_THAT((std::set<std::string>{"ns", "us", "ms", "%", "B", "KiB", "1/s", "x", "people", "1"}),
                    testing::Contains(r["unit"]))
            << r;
        EXPECT_LE(r["min"].get<double>(), r["median"].get<double>()) << r;
        EXPECT_LE(r["median"].get<double>(), r["max"].get<double>()) << r;
    }
}

INSTANTIATE_TEST_SUITE_P(bench, every_benchmark,
                         testing::Values("switch", "spawn", "parked", "ring", "skynet", "forkjoin", "fibonacci", "feed", "mutex",
                                         "channel", "timers", "choice", "preempt", "http", "users"),
                         [](const auto& one) { return std::string(one.param); });

TEST(bench_feed, seed_D14_D16_D17_D20_sweeps_people_and_nutrients_in_every_way) {
    const results measured("feed", "5", "1,2", {"--runs", "1"});
    for (const char* const nutrients : {"10", "100", "1000", "10000"}) {
        const auto with = [&](const char* way) { return way + std::string("/nutrients-") + nutrients; };
        expect_figures(measured, "us",
                       {with("threads"), with("threads/yield"), with("coroutines"), with("coroutines/ring"), with("fibers/yield"),
                        with("fibers/every-256")});
        std::set<int> people;
        std::set<int> workers;
        for (const auto& r : measured.all())
            if (r["variant"] == with("fibers/every-256"))
                people.insert(r["n"].get<int>()), workers.insert(r["workers"].get<int>());
        EXPECT_THAT(people, testing::ElementsAre(1, 2, 4, 5)) << "powers of two and the size asked for";
        EXPECT_THAT(workers, testing::ElementsAre(1, 2));
        for (const char* const way : {"coroutines", "coroutines/ring", "fibers/yield", "fibers/every-256"}) {
            const double from = measured.of(with((way + std::string("/threads-faster-from")).c_str()))["median"];
            EXPECT_THAT((std::set<double>{0, 1, 2, 4, 5}), testing::Contains(from)) << "a point of the sweep, or nowhere";
        }
        const auto hybrid = measured.of(with("fibers/every-256/beside-the-better"));
        EXPECT_EQ(hybrid["workers"], 2);
        EXPECT_EQ(hybrid["unit"], "x");
        EXPECT_EQ(hybrid["runs"], 1) << "one for each sweep";
        EXPECT_THAT(people, testing::Contains(hybrid["n"].get<int>())) << "the point where it is most";
    }
}

double figure(const ordered_json& r, const char* of = "median") { return r[of].get<double>(); }

TEST(bench_feed, seed_D10_the_time_of_the_ring_stands_beside_that_of_the_loop) {
    const results measured("feed", "4", "1", {"--ways", "coroutines/ring,coroutines", "--nutrients", "100,50"});
    for (const std::string nutrients : {"/nutrients-100", "/nutrients-50"}) {
        const auto loop = measured.of("coroutines" + nutrients, 4), ring = measured.of("coroutines/ring" + nutrients, 4);
        const auto beside = measured.of("coroutines/ring/beside-the-loop" + nutrients);
        EXPECT_EQ(beside["n"], 4);
        EXPECT_GE(figure(beside, "min"), 0.999 * figure(ring, "min") / figure(loop, "max"));
        EXPECT_LE(figure(beside, "max"), 1.001 * figure(ring, "max") / figure(loop, "min"));
        EXPECT_GT(figure(measured.of("coroutines/ring/round-trip" + nutrients)), 0);
    }
    for (const auto& r : measured.all()) EXPECT_THAT(r["variant"].get<std::string>(), testing::StartsWith("coroutines/"));
}

TEST(bench_feed, seed_D15_says_how_straight_the_line_of_the_fibers_is) {
    const results measured("feed", "8", "1", {"--ways", "coroutines,fibers/yield", "--nutrients", "1000"});
    for (const std::string way : {"coroutines", "fibers/yield"}) {
        const auto sweeps = measured.of(way + "/linear-fit-r2/nutrients-1000");
        EXPECT_EQ(sweeps["runs"], 2) << "one for each sweep";
        const auto of_least = measured.of(way + "/linear-fit-r2-of-least/nutrients-1000");
        for (const double r2 : {figure(sweeps, "min"), figure(sweeps, "max"), figure(of_least)}) {
            EXPECT_GT(r2, 0);
            EXPECT_LE(r2, 1.000001);
        }
    }
    EXPECT_GT(figure(measured.of("coroutines/round-trip/nutrients-1000")), 0);
}

#ifdef NDEBUG
constexpr bool optimized = true;
#else
constexpr bool optimized = false;
#endif

/// The loads of the seed, as far as a test has the time for a sweep up to 2048 people: it takes ten times as long with assertions, and
/// longer still with a sanitizer.
std::vector<int> loads() {
    if (sanitized) return {100};
    if (!optimized) return {10, 100, 1000};
    return {10, 100, 1000, 10'000};
}

/// For each way the least time that any sweep had for a point, since what disturbs only adds: three sweeps, and three more at a time
/// as long as the machine is busy.
class least_times : public testing::TestWithParam<int> {
protected:
    /// Until `enough`, or for a minute. \returns  whether it was.
    template <class Enough>
    bool sweep(const std::string& ways, const std::string& workers, Enough enough) {
        using clock = std::chrono::steady_clock;
        const auto end = clock::now() + std::chrono::minutes(1);
        do {
            const results measured("feed", people, workers, {"--ways", ways, "--nutrients", nutrients, "--runs", "3"});
            for (const auto& r : measured.all())
                if (r["unit"] == "us") {
                    auto& time = all[r["variant"]].try_emplace(r["n"], figure(r, "min")).first->second;
                    time = std::min(time, figure(r, "min"));
                }
            if (enough()) return true;
        } while (clock::now() < end);
        return false;
    }
    const bench::points& of(const std::string& way) { return all[way + "/nutrients-" + nutrients]; }

    const std::string people = sanitized ? "256" : "2048", nutrients = std::to_string(GetParam());
    std::map<std::string, bench::points> all;  // by variant
};

// As released a step takes so little that the line bends where the stacks of many people outgrow a cache.
TEST_P(least_times, seed_D15_of_the_coroutines_are_a_straight_line_up_to_2048_people_timing) {
    const double straight_enough = optimized ? 0.95 : 0.98;
    double straight = 0;
    EXPECT_TRUE(sweep("coroutines", "1", [&] { return (straight = bench::r_squared(of("coroutines"))) >= straight_enough; }));
    std::printf("R squared %.4f\n", straight);
    EXPECT_EQ(of("coroutines").size(), sanitized ? 9u : 12u);
}

// Two people are the fewest that can be fed in parallel. One alone may be fed later by what the wake of a second worker costs: the
// fiber that measures has blocked for threads before, so the worker expects another long body.
TEST_P(least_times, seed_D17_of_the_hybrid_are_nowhere_above_the_better_of_threads_and_coroutines_timing) {
    const double for_one = sanitized ? 500 : 50, for_more = sanitized ? 500 : 0;  // us
    bench::points above;
    EXPECT_TRUE(sweep("threads,coroutines,fibers/every-256", "2", [&] {
        above.clear();
        for (auto [persons, time] : of("fibers/every-256"))
            above[persons] = time - std::min(of("threads").at(persons), of("coroutines").at(persons));
        return std::ranges::all_of(above, [&](const auto& point) { return point.second <= (point.first == 1 ? for_one : for_more); });
    }));
    ASSERT_EQ(above.size(), sanitized ? 9u : 12u);
    for (auto [persons, time] : above) std::printf("%d people: %.1f us\n", static_cast<int>(persons), time);
}

INSTANTIATE_TEST_SUITE_P(nutrients, least_times, testing::ValuesIn(loads()), testing::PrintToStringParamName());

TEST(bench_feed, seed_D20_threads_that_give_way_are_measured_to_the_full_if_asked) {
    using bench::extent, bench::too_much;
    EXPECT_TRUE(too_much("threads/yield", 2048, 10'000, extent::usual)) << "twenty million times";
    EXPECT_FALSE(too_much("threads/yield", 2048, 10'000, extent::full));
    EXPECT_FALSE(too_much("threads/yield", 100, 10'000, extent::usual));
    for (const char* const way : {"threads", "coroutines", "fibers/yield"})
        EXPECT_FALSE(too_much(way, 2048, 10'000, extent::usual)) << way;
    EXPECT_TRUE(too_much("threads", 8192, 1, extent::full)) << "the system has no more of them";
    EXPECT_FALSE(too_much("fibers/yield", 8192, 1, extent::usual));

    const results measured("feed", "3", "1", {"--ways", "threads/yield,fibers/yield", "--nutrients", "20", "--full"});
    expect_figures(measured, "us", {"threads/yield/nutrients-20", "fibers/yield/nutrients-20"});
}

TEST(bench_feed, seed_D21_threads_come_before_fibers_at_every_point) {
    const results measured("feed", "2", "1", {"--nutrients", "10,100"});
    std::string before;
    for (const auto& r : measured.all()) {
        if (r["unit"] != "us") continue;
        const std::string variant = r["variant"];
        if (variant.starts_with("coroutines/nutrients")) {
            EXPECT_THAT(before, HasSubstr("threads"));
        }
        before = variant;
    }
}

TEST(bench_spawn, seed_L9_L10_runs_as_spawned_and_in_batches_and_tells_the_spawn_share) {
    const results measured("spawn", "1000", "1");
    expect_figures(measured, "ns", {"fibers/run-as-spawned", "fibers/batch", "threads/run-as-spawned", "threads/batch"});
    expect_figures(measured, "KiB", {"fibers/run-as-spawned/peak-memory", "fibers/batch/peak-memory"});
    const double share = measured.of("fibers/batch/spawn-share")["median"];
    EXPECT_GT(share, 0);
    EXPECT_LT(share, 100);
}

TEST(bench_parked, memory_and_times_come_from_as_many_processes_as_runs) {
    const results measured("parked", "2000", "1");
    expect_figures(measured, "ns", {"fibers/park", "fibers/wake", "fibers/park-and-wake", "calls/guard-and-touch"});
    EXPECT_GT(measured.of("fibers/memory")["median"].get<double>(), 64) << "bytes";
    EXPECT_GE(measured.of("fibers/memory-and-page-tables")["median"].get<double>(),
              measured.of("fibers/memory")["median"].get<double>());
    EXPECT_EQ(measured.of("fibers/memory")["runs"], 2);
}

TEST(bench_ring, seed_Q17_Q18_Q19_three_forks_are_pooled_into_a_mean_with_its_interval) {
    const results measured("ring", "50", "1");
    for (const std::string variant : {"fibers/channels", "fibers/promises", "fibers/actors", "threads/condition-variables"}) {
        EXPECT_EQ(measured.of(variant)["runs"], 3 * 2) << "three forks of two rounds";
        const auto interval = measured.of(variant + "/interval-99.9");
        const double mean = interval["median"], low = interval["min"], high = interval["max"];
        EXPECT_NEAR(mean - low, high - mean, 1e-3 * (std::abs(mean) + std::abs(high)));
        EXPECT_GE(mean, measured.of(variant)["min"].get<double>() * 0.999);
        EXPECT_LE(mean, measured.of(variant)["max"].get<double>() * 1.001);
        EXPECT_GT(measured.of(variant + "/standard-deviation")["median"].get<double>(), 0);
    }
    EXPECT_GT(measured.of("fibers/channels/speed-up")["median"].get<double>(), 0);
    EXPECT_GT(measured.of("fibers/actors/to-channels")["median"].get<double>(), 0);
}

TEST(bench_fibonacci, seed_L18_tells_efficiency_and_speed_up_for_more_workers_than_one) {
    const results measured("fibonacci", "5000", "1,2,4");
    expect_figures(measured, "ms", {"fibers/total", "fibers/never-preempted/total", "threads/total"});
    for (const std::string who : {"fibers", "fibers/never-preempted", "threads"}) {
        EXPECT_EQ(measured.of(who + "/efficiency")["workers"], 2);
        EXPECT_GT(measured.of(who + "/efficiency")["median"].get<double>(), 0);
        std::vector<unsigned> workers;
        for (const auto& r : measured.all())
            if (r["variant"] == who + "/total/speed-up") workers.push_back(r["workers"].get<unsigned>());
        EXPECT_THAT(workers, testing::ElementsAre(1, 2, 4)) << who;
    }
    EXPECT_DOUBLE_EQ(measured.of("threads/total/speed-up")["median"].get<double>(), 1) << "one thread beside itself";
}

TEST(bench_channel, seed_L8_measures_waking_an_idle_runtime_and_what_idling_costs) {
    const results measured("channel", "50", "1");
    EXPECT_GT(measured.of("fibers/wake-idle")["median"].get<double>(), 0);
    EXPECT_LT(measured.of("fibers/idle-cpu")["median"].get<double>(), 100) << "of one CPU";
    for (const std::string shape : {"one-to-one", "many-to-one", "one-to-many", "many-to-many"})
        for (const std::string storage : {"rendezvous", "buffered-64"}) {
            measured.of("fibers/" + shape + '/' + storage);
            measured.of("threads/" + shape + '/' + storage);
        }
}

TEST(bench_switch, partners_at_other_depths_and_in_other_operations_are_measured_too) {
    const results measured("switch", "1000", "1");
    expect_figures(measured, "ns",
                   {"fibers/yield", "fibers/yield-in-two-loops", "fibers/yield-at-other-depth", "fibers/yield-and-receive", "coroutines/call-and-yield",
                    "threads/yield"});
}

constexpr const char* computing_hogs[] = {"recursion", "loop",   "library", "malloc",     "lock",
                                          "weft-lock", "memcpy", "regex",   "exceptions", "bursts"};

TEST(bench_preempt, seed_R1_R2_R3_R16_ticks_beside_hogs_of_each_kind) {
    const results measured("preempt", "10", "1", {"--hogs", "3"});
    expect_figures(measured, "ms", {"fibers/sleepers-beside-fib", "fibers/asleep-in-libc"});
    EXPECT_GE(measured.of("fibers/sleepers-beside-fib")["min"].get<double>(), 10) << "they sleep for so many milliseconds";
    EXPECT_GE(measured.of("fibers/never-preempted/sleepers-beside-fib")["max"].get<double>(), 30)
        << "they wait for the hog, which computes for three times as long";
    std::vector<std::string> kinds(std::begin(computing_hogs), std::end(computing_hogs));
    const auto throughput = [](const results& of, const std::string& kind) {
        return of.of("fibers/" + kind + "-3/throughput")["max"].get<double>();
    };
    for (const auto& kind : kinds) {
        auto most = throughput(measured, kind);
        // On a full machine a hog may get no CPU in these 10 ms.
        for (int tries = 0; tries < 10 && most == 0; ++tries)
            most = throughput(results("preempt", "10", "1", {"--hogs", "3", "--kinds", kind}), kind);
        EXPECT_GT(most, 0) << kind;
    }
    kinds.insert(kinds.end(), {"sleep", "flock"});
    for (const auto& kind : kinds)
        for (const std::string who : {"fibers/", "threads/"}) {
            std::vector<double> ascending;
            for (const char* const what : {"/p50", "/p90", "/p99", "/max"})
                ascending.push_back(measured.of(who + kind + "-3" + what)["min"].get<double>());
            EXPECT_TRUE(std::ranges::is_sorted(ascending)) << who << kind;
            expect_figures(measured, "us", {who + kind + "-3/first-p50", who + kind + "-3/first-p99"});
        }
}

TEST(bench_preempt, seed_R7_R8_R12_what_preempting_costs_and_the_reduction_alternative_beside_it) {
    const results measured("preempt", "10", "1", {"--hogs", "2", "--kinds", "recursion"});
    expect_figures(measured, "%", {"fibers/cost/slice-1", "fibers/cost/slice-5", "fibers/cost/slice-10", "fibers/cost/slice-50"});
    EXPECT_GT(measured.of("reductions/cost")["max"], 0) << "each call is counted";
    expect_figures(measured, "us",
                   {"reductions/recursion-2/first-p99", "reductions/recursion-2/p50", "reductions/recursion-2/p99"});
}

TEST(bench_choice, seed_Q15_who_waits_and_who_computes_are_measured_as_fibers_and_as_threads) {
    const results measured("choice", "4", "1,2");
    expect_figures(measured, "ns", {"fibers/waits", "threads/waits"});
    for (const std::string variant : {"fibers/computes", "fibers/never-preempted/computes", "threads/computes"}) {
        EXPECT_GT(measured.of(variant)["min"].get<double>(), 0);
        EXPECT_GT(measured.of(variant + "/latest-tick")["max"].get<double>(), 0) << "nobody is back at the very nanosecond";
    }
    std::multiset<unsigned> workers;
    for (const auto& r : measured.all())
        if (r["variant"] == "fibers/computes") workers.insert(r["workers"].get<unsigned>());
    EXPECT_THAT(workers, testing::ElementsAre(1, 2));
}

TEST(bench_preempt, seed_R14_what_one_hand_off_costs) {
    const results measured("preempt", "20", "1", {"--hogs", "1", "--kinds", "sleep"});
    const auto price = measured.of("fibers/hand-off");
    EXPECT_EQ(price["unit"], "ns");
    EXPECT_EQ(price["workers"], 1);
    EXPECT_GT(price["median"], 1'000) << "no thread is woken for less";
    EXPECT_LT(price["median"], 2'000'000) << "or the bodies are in it, of 2 ms each";
}

TEST(bench_preempt, kinds_and_counts_are_those_asked_for) {
    const results measured("preempt", "5", "2", {"--kinds", "flock,sleep", "--hogs", "100,1"});
    std::set<std::string> seen;
    for (const auto& variant : measured.variants("us")) seen.insert(variant.substr(0, variant.rfind('/')));
    EXPECT_THAT(seen, testing::ElementsAre("fibers/flock-1", "fibers/flock-100", "fibers/sleep-1", "fibers/sleep-100",
                                           "threads/flock-1", "threads/flock-100", "threads/sleep-1", "threads/sleep-100"));
    EXPECT_EQ(measured.of("fibers/flock-1/p99")["runs"], 2) << "and none to warm up is among them";
}

TEST(bench_users, seed_R10_answers_are_timed_beside_hogs_in_the_same_process) {
    const results served("users", "20", "1");
    expect_figures(served, "1/s", {"fibers/hogs-16/requests"});
    expect_figures(served, "us", {"fibers/hogs-16/p50", "fibers/hogs-16/p99"});
    EXPECT_FALSE(served.variants("ns").contains("fibers/hogs-16/server-cpu")) << "the hogs' time is none of the server's";
}

TEST(bench_others, have_their_variants) {
    expect_figures(results("mutex", "10", "1"), "ns",
                   {"fibers/alone", "fibers/among-2", "fibers/among-8", "fibers/among-8/owner-yields", "threads/alone",
                    "threads/among-2", "threads/among-8"});
    expect_figures(results("skynet", "100", "1"), "ms", {"fibers/channels", "fibers/joins"});
    expect_figures(results("forkjoin", "10", "1"), "ns", {"fibers/spawn-and-join", "threads/async-and-get", "calls/plain"});
    const results timers("timers", "100", "1");
    expect_figures(timers, "ns", {"fibers/insert-and-cancel"});
    expect_figures(timers, "%", {"fibers/fire", "fibers/fire/each-millisecond"});
    for (const char* const name : {"http", "users"}) {
        const results served(name, "20", "1");
        expect_figures(served, "1/s", {"fibers/requests"});
        expect_figures(served, "ns", {"fibers/server-cpu"});
        expect_figures(served, "us", {"fibers/p50", "fibers/p99"});
        EXPECT_LE(served.of("fibers/p50")["median"], served.of("fibers/p99")["median"]);
    }
}

}  // namespace
