// ring.cpp - a number goes around 503 members and is one less at each: seed 002's thread ring, measured as there. Three fresh
// processes, in each as many rounds to warm up as are measured. A hop is one send and one receive; when the number is used up
// the ring is taken apart and all members end.
//
// Rows of the seeds (docs/seeds/rows.md): seed_Q17_Q18_Q19.
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <weft/actor.hpp>
#include <weft/channel.hpp>
#include <weft/ivar.hpp>
#include <weft/latch.hpp>
#include <weft/scope.hpp>

#include "interval.hpp"
#include "machine.hpp"
#include "session.hpp"
#include "timing.hpp"
#include "workloads.hpp"

namespace bench {
namespace {

constexpr std::size_t members = 503;
constexpr unsigned forks = 3;

/// Passes numbers on; the last one closes the next seat, and so the end goes around as well.
template <class Seat>
void take_part(Seat& mine, Seat& next) {
    while (const auto number = mine.receive()) {
        if (*number == 0) break;
        next.send(*number - 1);
    }
    next.close();
}

template <class Seat, class Start>
double around(std::vector<Seat>& seats, int hops, Start&& start) {
    return nanoseconds([&] { start([&](std::size_t i) { take_part(seats[i], seats[(i + 1) % members]); }); }) / hops;
}

template <class Seat>
double by_fibers(std::vector<Seat> seats, int hops) {
    return around(seats, hops, [&](auto member) {
        weft::with_scope([&](weft::scope& ring) {
            for (std::size_t i = 0; i < members; ++i) ring.spawn([member, i] { member(i); });
            seats[0].send(hops);
        });
    });
}

double by_channels(int hops) {
    std::vector<weft::channel<int>> seats;
    for (std::size_t i = 0; i < members; ++i) seats.emplace_back();
    return by_fibers(std::move(seats), hops);
}

/// Promises one after the other: each brings a value, and the promise of the next.
class promised {
public:
    std::optional<int> receive() {
        const auto here = std::exchange(next_, nullptr);
        auto& [value, next] = here->get();
        next_ = next;
        return value;
    }
    void send(int value) { keep(value); }
    void close() { keep(std::nullopt); }

private:
    struct message;
    using promise = std::shared_ptr<weft::ivar<message>>;
    struct message {
        std::optional<int> value;
        promise next;
    };

    void keep(std::optional<int> value) {
        auto fresh = std::make_shared<weft::ivar<message>>();
        std::exchange(open_, fresh)->set({value, fresh});
    }

    promise open_ = std::make_shared<weft::ivar<message>>();  // the sender's
    promise next_ = open_;                                    // the receiver's
};

double by_promises(int hops) { return by_fibers(std::vector<promised>(members), hops); }

/// The same by actors: each sends to the next one, and all end with the last references.
class member {
public:
    member(const std::vector<weft::actor_ref<member>>& ring, std::size_t next, weft::latch& used_up, weft::latch& ended)
        : ring_(ring), next_(next), used_up_(used_up), ended_(ended) {}
    ~member() { ended_.count_down(); }
    void handle(int number) {
        if (number == 0)
            used_up_.count_down();
        else
            ring_[next_].send(number - 1);
    }

private:
    const std::vector<weft::actor_ref<member>>& ring_;
    const std::size_t next_;
    weft::latch& used_up_;
    weft::latch& ended_;
};

double by_actors(int hops) {
    std::vector<weft::actor_ref<member>> ring;
    weft::latch used_up(1), ended(members);
    return nanoseconds([&] {
               for (std::size_t i = 0; i < members; ++i)
                   ring.push_back(
                       weft::spawn_actor<member>({}, std::cref(ring), (i + 1) % members, std::ref(used_up), std::ref(ended)));
               ring[0].send(hops);
               used_up.wait();
               ring.clear();
               ended.wait();
           }) /
           hops;
}

/// A channel of one value for plain threads.
class seat {
public:
    std::optional<int> receive() {
        std::unique_lock hold(lock_);
        change_.wait(hold, [this] { return value_ || closed_; });
        return std::exchange(value_, std::nullopt);
    }
    void send(int value) {
        {
            const std::lock_guard hold(lock_);
            value_ = value;
        }
        change_.notify_one();
    }
    void close() {
        {
            const std::lock_guard hold(lock_);
            closed_ = true;
        }
        change_.notify_one();
    }

private:
    std::mutex lock_;
    std::condition_variable change_;
    std::optional<int> value_;
    bool closed_ = false;
};

double by_threads(int hops) {
    std::vector<seat> seats(members);
    return around(seats, hops, [&](auto member) {
        std::vector<std::jthread> ring;
        for (std::size_t i = 0; i < members; ++i) ring.emplace_back(member, i);
        seats[0].send(hops);
    });
}

/// One fork: rounds to warm up and as many to measure.
void rounds(session& s, std::uint64_t n, double (*once)(int)) {
    for (unsigned i = 0; i < 2 * s.runs(); ++i) {
        const double hop = once(static_cast<int>(n));
        if (i >= s.runs()) s.report({s.part(), s.workers().front(), n}, {hop});
    }
}

void one_fork(session& s, std::uint64_t n) {
    if (s.part() == "threads/condition-variables")
        rounds(s, n, by_threads);
    else if (s.part() == "fibers/channels")
        on_workers(s.workers().front(), [&] { rounds(s, n, by_channels); });
    else if (s.part() == "fibers/promises")
        on_workers(s.workers().front(), [&] { rounds(s, n, by_promises); });
    else if (s.part() == "fibers/actors")
        on_workers(s.workers().front(), [&] { rounds(s, n, by_actors); });
    else
        throw std::invalid_argument("ring has no part " + s.part());
}

/// \returns  the mean of a hop.
double all_forks(session& s, const char* variant, unsigned workers, std::uint64_t n) {
    auto figures = s.in_fresh_processes(variant, workers, n, forks)[variant];
    const auto [mean, deviation, half_width] = spread_of(figures);
    s.report({variant, workers, n}, std::move(figures));
    s.report({std::string(variant) + "/interval-99.9", workers, n}, {mean - half_width, mean, mean + half_width});
    s.report({std::string(variant) + "/standard-deviation", workers, n}, {deviation});
    return mean;
}

}  // namespace

void ring_workload(session& s) {
    const auto n = s.n(10'000'000);
    if (!s.part().empty()) return one_fork(s, n);
    const auto few = s.at_most(100'000, n);
    const double thread_hop = all_forks(s, "threads/condition-variables", usable_cpus(), few);
    for (const auto workers : s.workers()) {
        const double hop = all_forks(s, "fibers/channels", workers, n);
        s.report({"fibers/channels/speed-up", workers, n, "x"}, {thread_hop / hop});
        all_forks(s, "fibers/promises", workers, n);
        s.report({"fibers/actors/to-channels", workers, n, "x"}, {all_forks(s, "fibers/actors", workers, n) / hop});
    }
}

}  // namespace bench
