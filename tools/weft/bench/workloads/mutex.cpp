// mutex.cpp - lock and unlock: alone, in the same fiber beside std::mutex, among fibers that take turns, and against owners that give
// way while they hold it.
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <weft/fiber.hpp>
#include <weft/mutex.hpp>
#include <weft/scope.hpp>

#include "machine.hpp"
#include "session.hpp"
#include "timing.hpp"
#include "workloads.hpp"

namespace bench {
namespace {

enum class owner { stays, gives_way };

template <class Mutex>
struct counter {
    Mutex lock;
    std::uint64_t value = 0;

    void count(std::uint64_t times, owner how) {
        for (std::uint64_t i = 0; i < times; ++i) {
            const std::lock_guard hold(lock);
            ++value;
            if (how == owner::gives_way) weft::this_fiber::yield();
        }
    }
};

template <class Mutex = weft::mutex>
double by_fibers(std::uint64_t n, unsigned fibers, owner how) {
    counter<Mutex> shared;
    const auto share = n / fibers + 1;
    const double time = nanoseconds([&] {
        weft::with_scope([&](weft::scope& all) {
            for (unsigned i = 0; i < fibers; ++i) all.spawn([&] { shared.count(share, how); });
        });
    });
    if (shared.value != share * fibers) throw std::logic_error("the mutex let two in");
    return time / static_cast<double>(shared.value);
}

double by_threads(std::uint64_t n, unsigned threads) {
    counter<std::mutex> shared;
    const auto share = n / threads + 1;
    const double time = nanoseconds([&] {
        std::vector<std::jthread> all;
        for (unsigned i = 0; i < threads; ++i) all.emplace_back([&] { shared.count(share, owner::stays); });
    });
    return time / static_cast<double>(shared.value);
}

}  // namespace

void mutex_workload(session& s) {
    const auto n = s.n(2'000'000);
    const auto few = s.at_most(200'000, n);
    for (const auto workers : s.workers())
        on_workers(workers, [&] {
            s.measure({"fibers/alone", workers, n}, [&] { return by_fibers(n, 1, owner::stays); });
            s.measure({"fibers/alone/std-mutex", workers, n}, [&] { return by_fibers<std::mutex>(n, 1, owner::stays); });
            for (const unsigned fibers : {2u, 8u}) {
                const auto among = "fibers/among-" + std::to_string(fibers);
                s.measure({among, workers, n}, [&] { return by_fibers(n, fibers, owner::stays); });
                s.measure({among + "/owner-yields", workers, few}, [&] { return by_fibers(few, fibers, owner::gives_way); });
            }
        });
    s.measure({"threads/alone", 1, n}, [&] { return by_threads(n, 1); });
    for (const unsigned threads : {2u, 8u})
        s.measure({"threads/among-" + std::to_string(threads), usable_cpus(), n}, [&] { return by_threads(n, threads); });
}

}  // namespace bench
