// feed.cpp - seed 000: people who need nutrients, fed all at once, for 1 to 2048 people and 10 to 10,000 nutrients.
//
//  threads             a thread each, which never gives way: the seed's program
//  threads/yield       the same, giving way after each bite: what a reader of the seed asked for; up to a million bites
//  coroutines          a coroutine each and one loop that calls them in turn: the seed's program
//  coroutines/ring     each goes on in the next one, with no loop in the middle: what its author suggests
//  fibers/yield        a fiber each, giving way after each bite
//  fibers/every-256    a fiber each, giving way after 256 bites; with several workers the hybrid that the seed recommends
//
// All variants of a point are measured in turn, threads first, with one stopwatch.
//
// Rows of the seeds (docs/seeds/rows.md): seed_D10_D14_D15_D16_D17_D20_D21.
#include <chrono>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <feed/feeding.hpp>
#include <feed/ring_feeding.hpp>
#include <weft/scope.hpp>

#include "linear.hpp"
#include "machine.hpp"
#include "session.hpp"
#include "timing.hpp"
#include "workloads.hpp"

namespace bench {
namespace {

constexpr int bites = 256;                 // chosen: its yields add a few percent to the bites, and nobody waits for long
constexpr std::uint64_t most_threads = 4096;
constexpr std::uint64_t most_thread_yields = 1'000'000;     // of the system's scheduler, about a microsecond each

class stopwatch {
public:
    void start() { since_ = clock::now(); }
    void stop() { total_ += clock::now() - since_; }
    void reset() { total_ = {}; }
    double microseconds() const { return std::chrono::duration<double, std::micro>(total_).count(); }

private:
    using clock = std::chrono::steady_clock;
    clock::time_point since_;
    clock::duration total_{};
};

void feed_with_yielding_threads(people& all) {
    std::vector<std::jthread> threads;
    for (auto& p : all)
        threads.emplace_back([&one = *p] {
            while (!one.satisfied()) {
                one.eat();
                std::this_thread::yield();
            }
        });
}

template <int Every>
void feed_with_many_fibers(people& all) {
    weft::with_scope([&](weft::scope& room) {
        for (auto& p : all)
            room.spawn([&one = *p] {
                for (int bite = 1; !one.satisfied(); ++bite) {
                    one.eat();
                    if (bite % Every == 0) weft::this_fiber::yield();
                }
            });
    });
}

struct way {
    std::string name;                      // the variant, without nutrients-N
    unsigned workers;
    void (*feed)(people&);
    bool trips = false;                    // a bite is a call or a dispatch, and a yield
    weft::runtime* where = nullptr;        // null: the calling thread
};

std::vector<way> ways(std::vector<std::unique_ptr<weft::runtime>>& runtimes, const std::vector<unsigned>& workers) {
    std::vector<way> all{{"threads", usable_cpus(), feed_with_threads},
                         {"threads/yield", usable_cpus(), feed_with_yielding_threads},
                         {"coroutines", 1, feed_with_fibers, true},
                         {"coroutines/ring", 1, feed_in_ring}};
    for (const auto w : workers) {
        runtimes.push_back(std::make_unique<weft::runtime>(in_silence({.workers = w})));
        all.push_back({"fibers/yield", w, feed_with_many_fibers<1>, true, runtimes.back().get()});
        all.push_back({"fibers/every-" + std::to_string(bites), w, feed_with_many_fibers<bites>, false, runtimes.back().get()});
    }
    return all;
}

/// \returns  microseconds; making the threads or fibers is part of them, making the people is not.
double timed(const way& w, stopwatch& watch, std::uint64_t persons, int nutrients) {
    people all = make_people(static_cast<int>(persons), nutrients);
    const auto feed = [&] {
        watch.reset();
        watch.start();
        w.feed(all);
        watch.stop();
    };
    if (w.where)
        w.where->run(feed);
    else
        feed();
    if (!all_satisfied(all)) throw std::logic_error("somebody was not fed, or too much");
    return watch.microseconds();
}

bool too_much(const way& w, std::uint64_t persons, int nutrients) {
    if (w.name == "threads/yield" && persons * static_cast<unsigned>(nutrients) > most_thread_yields) return true;
    return w.name.starts_with("threads") && persons > most_threads;
}

/// Medians by people, of one way and one count of nutrients.
using curve = std::map<std::uint64_t, double>;

/// What can be read off the curves: whether time grows as the number of people, and from where on threads win.
void report_shape(session& s, const way& w, const std::string& nutrients, const curve& mine, const curve& threads) {
    const auto most = mine.rbegin()->first;
    if (w.trips && mine.size() > 2) s.report({w.name + "/linear-fit-r2/" + nutrients, w.workers, most, "1"}, {r_squared(mine)});
    std::uint64_t from = 0;
    for (auto [persons, time] : threads)
        if (time >= mine.at(persons))
            from = 0;
        else if (from == 0)
            from = persons;
    if (from != 0)
        s.report({w.name + "/threads-faster-from/" + nutrients, w.workers, most, "people"}, {static_cast<double>(from)});
}

void sweep(session& s, const std::vector<way>& all, const std::vector<std::uint64_t>& crowds, int nutrients) {
    const auto suffix = "nutrients-" + std::to_string(nutrients);
    stopwatch watch;
    std::vector<curve> curves(all.size());
    for (const auto persons : crowds) {
        std::vector<label> labels;
        std::vector<std::size_t> taking_part;
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (too_much(all[i], persons, nutrients)) continue;
            taking_part.push_back(i);
            labels.push_back({all[i].name + '/' + suffix, all[i].workers, persons, "us"});
        }
        const auto times = s.measure(labels, [&] {
            std::vector<double> once;
            for (const auto i : taking_part) once.push_back(timed(all[i], watch, persons, nutrients));
            return once;
        });
        for (std::size_t k = 0; k < taking_part.size(); ++k) {
            const auto& w = all[taking_part[k]];
            curves[taking_part[k]][persons] = summary({}, {}, times[k]).median;
            if (persons != std::min<std::uint64_t>(1024, crowds.back()) || !w.trips) continue;
            auto trips = times[k];
            for (auto& t : trips) t = t * 1000 / static_cast<double>(persons) / nutrients;
            s.report({w.name + "/round-trip/" + suffix, w.workers, persons}, std::move(trips));
        }
    }
    for (std::size_t i = 0; i < all.size(); ++i)
        if (!all[i].name.starts_with("threads")) report_shape(s, all[i], suffix, curves[i], curves[0]);
}

}  // namespace

void feed_workload(session& s) {
    const auto most = s.n(2048);
    std::vector<std::uint64_t> crowds;
    for (std::uint64_t persons = 1; persons < most; persons *= 2) crowds.push_back(persons);
    crowds.push_back(most);
    std::vector<std::unique_ptr<weft::runtime>> runtimes;
    const auto all = ways(runtimes, s.workers());
    for (const int nutrients : {10, 100, 1000, 10'000}) sweep(s, all, crowds, nutrients);
}

}  // namespace bench
