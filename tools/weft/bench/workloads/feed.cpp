// feed.cpp - seed 000: people who need nutrients, fed all at once in each way of ways_to_feed.hpp, for 1 to 2048 people and 10 to
// 10,000 nutrients.
//
// A run is a sweep over all numbers of people. At each point all ways take their turn, threads first, with one stopwatch.
// Read off the sweeps, for each count of nutrients:
//
//  linear-fit-r2           R squared of the straight line through the times of a sweep: one figure for each sweep
//  linear-fit-r2-of-least  the same through the least times of all sweeps
//  round-trip              the time of a bite with its switches, with up to 1024 people
//  beside-the-loop         of the ring, at the same point: how many times as long as the loop it takes
//  threads-faster-from     the fewest people from whom on a way is slower than threads, by the medians; 0: nowhere
//  beside-the-better       of the hybrid: how many times as long it takes as the better of threads and coroutines, which are the
//                          seed's two, at the point (n) where that is most; the smallest and the largest figure are those of
//                          the sweeps
//
// Threads that give way end at a million bites: twenty million, with --full, take the system's scheduler minutes. With --full there
// is no run to warm up.
//
// Rows of the seeds (docs/seeds/rows.md): seed_D10_D14_D15_D16_D17_D20_D21.
#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

#include "curves.hpp"
#include "feed_limits.hpp"
#include "session.hpp"
#include "ways_to_feed.hpp"
#include "workloads.hpp"

namespace bench {
namespace {

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

/// \returns  microseconds; making the threads or fibers is part of them, making the people is not.
double timed(const way_to_feed& w, stopwatch& watch, std::uint64_t persons, unsigned nutrients) {
    people all = make_people(static_cast<int>(persons), static_cast<int>(nutrients));
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

/// All ways at one count of nutrients.
class meal {
public:
    meal(session& s, const std::vector<way_to_feed>& ways, unsigned nutrients)
        : session_(s), ways_(ways), nutrients_(nutrients), curves_(ways.size()) {}

    void sweep(const std::vector<std::uint64_t>& crowds) {
        std::vector<label> labels;
        std::vector<std::pair<std::size_t, std::uint64_t>> who;  // the way and the people of each label
        for (const auto persons : crowds)
            for (std::size_t i = 0; i < ways_.size(); ++i) {
                if (too_much(ways_[i].name, persons, nutrients_, session_.full() ? extent::full : extent::usual)) continue;
                labels.push_back({named(ways_[i].name), ways_[i].workers, persons, "us"});
                who.emplace_back(i, persons);
            }
        stopwatch watch;
        const auto once = [&] {
            std::vector<double> times;
            for (auto [i, persons] : who) times.push_back(timed(ways_[i], watch, persons, nutrients_));
            return times;
        };
        // A run that takes minutes needs none to warm up.
        auto figures = session_.full() ? session_.measure_cold(labels, once) : session_.measure(labels, once);
        for (std::size_t k = 0; k < who.size(); ++k) curves_[who[k].first][who[k].second] = std::move(figures[k]);
        usual_ = std::min<std::uint64_t>(1024, crowds.back());
    }

    void report() {
        const curve* const threads = find("threads");
        for (std::size_t i = 0; i < ways_.size(); ++i) {
            if (ways_[i].by_threads()) continue;
            if (ways_[i].trips) report_trips(ways_[i], curves_[i]);
            if (threads) report_crossing(ways_[i], curves_[i], *threads);
        }
        report_ring();
        report_hybrids();
    }

private:
    std::string named(const std::string& what) const { return what + "/nutrients-" + std::to_string(nutrients_); }

    const curve* find(const std::string& name) const {
        for (std::size_t i = 0; i < ways_.size(); ++i)
            if (ways_[i].name == name) return &curves_[i];
        return nullptr;
    }

    void report_trips(const way_to_feed& w, const curve& mine) {
        auto trips = mine.at(usual_);
        for (auto& t : trips) t = t * 1000 / static_cast<double>(usual_) / nutrients_;
        session_.report({named(w.name + "/round-trip"), w.workers, usual_}, std::move(trips));
        if (mine.size() <= 2) return;  // any two points are on a line
        std::vector<double> straightness;
        for (std::size_t run = 0; run < session_.runs(); ++run) straightness.push_back(r_squared(sweep_of(mine, run)));
        const auto most = mine.rbegin()->first;
        session_.report({named(w.name + "/linear-fit-r2"), w.workers, most, "1"}, std::move(straightness));
        session_.report({named(w.name + "/linear-fit-r2-of-least"), w.workers, most, "1"}, {r_squared(least_of(mine))});
    }

    void report_crossing(const way_to_feed& w, const curve& mine, const curve& threads) {
        const auto from = faster_from(medians_of(threads), medians_of(mine));
        session_.report({named(w.name + "/threads-faster-from"), w.workers, mine.rbegin()->first, "people"},
                        {static_cast<double>(from.value_or(0))});
    }

    void report_ring() {
        const curve *const ring = find("coroutines/ring"), *const loop = find("coroutines");
        if (!ring || !loop) return;
        std::vector<double> times_as_long;
        for (std::size_t run = 0; run < session_.runs(); ++run)
            times_as_long.push_back(ring->at(usual_)[run] / loop->at(usual_)[run]);
        session_.report({named("coroutines/ring/beside-the-loop"), 1, usual_, "x"}, std::move(times_as_long));
    }

    void report_hybrids() {
        const curve *const threads = find("threads"), *const coroutines = find("coroutines");
        if (!threads || !coroutines) return;
        const std::vector<curve> others{*threads, *coroutines};
        for (std::size_t i = 0; i < ways_.size(); ++i) {
            const auto& w = ways_[i];
            if (w.workers == 1 || !w.name.starts_with("fibers/every")) continue;
            if (auto top = highest_above(curves_[i], others))
                session_.report({named(w.name + "/beside-the-better"), w.workers, top->people, "x"},
                                std::move(top->times_as_long));
        }
    }

    session& session_;
    const std::vector<way_to_feed>& ways_;
    const unsigned nutrients_;
    std::vector<curve> curves_;  // of each way
    std::uint64_t usual_ = 1;  // the people of the figures for a bite: the seed's 1024
};

}  // namespace

void feed_workload(session& s) {
    const auto most = s.n(2048);
    std::vector<std::uint64_t> crowds;
    for (std::uint64_t persons = 1; persons < most; persons *= 2) crowds.push_back(persons);
    crowds.push_back(most);
    const auto ways = ways_to_feed(s.ways(), s.workers());
    for (const auto nutrients : s.nutrients()) {
        meal here(s, ways, nutrients);
        here.sweep(crowds);
        here.report();
    }
}

}  // namespace bench
