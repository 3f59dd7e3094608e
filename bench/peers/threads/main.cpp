// main.cpp - the benchmarks by std::thread, where `weft bench` does not already measure threads in the same way beside its fibers.
#include <sched.h>

#include <future>
#include <latch>
#include <memory>
#include <semaphore>
#include <thread>

#include "fibonacci.hpp"
#include "peer.hpp"

namespace {

using namespace peer;

/// Leaves this process so many of its CPUs, which is what the other peers' workers are.
void keep_cpus(unsigned count) {
    cpu_set_t usable, kept;
    ::sched_getaffinity(0, sizeof usable, &usable);
    CPU_ZERO(&kept);
    for (unsigned cpu = 0; cpu < CPU_SETSIZE && count > 0; ++cpu)
        if (CPU_ISSET(cpu, &usable)) CPU_SET(cpu, &kept), --count;
    ::sched_setaffinity(0, sizeof kept, &kept);
}

/// Two threads on one CPU wake each other: the switch that every wait of a thread pays.
void switches(const request& r) {
    const auto half = r.n / 2 + 1;
    measure(r, {"semaphores", r.n, "ns"}, [&] {
        std::binary_semaphore mine(0), others(0);
        return nanoseconds([&] {
                   std::jthread other([&] {
                       for (std::uint64_t i = 0; i < half; ++i) others.acquire(), mine.release();
                   });
                   for (std::uint64_t i = 0; i < half; ++i) others.release(), mine.acquire();
               }) /
               static_cast<double>(2 * half);
    });
}

void start_detached(std::uint64_t n) {
    const auto ended = std::make_shared<std::latch>(static_cast<std::ptrdiff_t>(n));  // the last one may still be in count_down()
    for (std::uint64_t i = 0; i < n; ++i) std::thread([=] { ended->count_down(); }).detach();
    ended->wait();
}

void spawn(const request& r) {
    measure(r, {"detached", r.n, "ns"}, [&] { return nanoseconds([&] { start_detached(r.n); }) / static_cast<double>(r.n); });
}

void parked(const request& r) {
    std::vector<std::jthread> all;
    std::unique_ptr<std::latch> arrived, event;
    const auto park = [&] {
        arrived = std::make_unique<std::latch>(static_cast<std::ptrdiff_t>(r.n));
        event = std::make_unique<std::latch>(1);
        for (std::uint64_t i = 0; i < r.n; ++i)
            all.emplace_back([&] {
                arrived->count_down();
                event->wait();
            });
        arrived->wait();
    };
    measure_parked(r, park, [&] {
        event->count_down();
        all.clear();
    });
}

class seat {
public:
    bool receive(int& number) {
        full_.acquire();
        number = number_;
        return number_ >= 0;
    }
    void send(int number) {
        number_ = number;
        full_.release();
    }
    void close() { send(-1); }

private:
    std::binary_semaphore full_{0};
    int number_ = 0;
};

void ring(const request& r) {
    measure(r, {"semaphores", r.n, "ns"}, [&] {
        std::vector<seat> seats(members);
        return nanoseconds([&] {
                   std::vector<std::jthread> all;
                   for (std::size_t i = 0; i < members; ++i)
                       all.emplace_back([&, i] { take_part(seats[i], seats[(i + 1) % members]); });
                   seats[0].send(static_cast<int>(r.n));
               }) /
               static_cast<double>(r.n);
    });
}

std::uint64_t tree(share mine) {
    if (mine.count == 1) return mine.first;
    std::vector<std::future<std::uint64_t>> parts;
    for (std::uint64_t i = 0; i < share::children; ++i)
        if (const auto part = mine.part(i); part.count > 0) parts.push_back(std::async(std::launch::async, tree, part));
    std::uint64_t sum = 0;
    for (auto& part : parts) sum += part.get();
    return sum;
}

std::uint64_t fib(unsigned n) {
    if (n < 2) return n;
    std::uint64_t left = 0;
    std::thread other([&] { left = fib(n - 1); });
    const auto right = fib(n - 2);
    other.join();
    return left + right;
}

void fibonacci(const request& r) {
    measure_fibonacci(r, "total/gmp-64-threads", [](auto piece) {
        std::vector<std::jthread> all;
        for (unsigned i = 0; i < pieces; ++i) all.emplace_back(piece);
    });
}

}  // namespace

int main(int argc, char** argv) {
    if (argc > 2) keep_cpus(static_cast<unsigned>(std::strtoul(argv[2], nullptr, 10)));
    return peer::main(argc, argv,
                      std::array<benchmark, 8>{{
                          {"switch", switches},
                          {"spawn", spawn},
                          {"peak-memory/run-as-spawned", [](const request& r) { measure_peak(r, "detached", start_detached); }},
                          {"parked", parked},
                          {"ring", ring},
                          {"skynet", [](const request& r) { measure_skynet(r, "joins", tree); }},
                          {"forkjoin", [](const request& r) { measure_forkjoin(r, fib); }},
                          {"fibonacci", fibonacci},
                      }});
}
