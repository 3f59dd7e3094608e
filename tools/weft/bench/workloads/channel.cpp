// channel.cpp - values through a channel, for each number of senders and receivers; one fiber's receives and selects of what is there
// already; and what it takes to wake an idle runtime.
//
// Rows of the seeds (docs/seeds/rows.md): seed_L8.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <weft/channel.hpp>
#include <weft/deadline.hpp>
#include <weft/scope.hpp>
#include <weft/select.hpp>

#include "cpu_time.hpp"
#include "session.hpp"
#include "timing.hpp"
#include "workloads.hpp"

namespace bench {
namespace {

using namespace std::chrono_literals;

constexpr unsigned many = 8;

struct shape {
    const char* name;
    unsigned senders, receivers;
};
constexpr shape shapes[] = {
    {"one-to-one", 1, 1}, {"many-to-one", many, 1}, {"one-to-many", 1, many}, {"many-to-many", many, many}};

struct storage {
    const char* name;
    std::size_t capacity;
};
constexpr storage storages[] = {{"rendezvous", 0}, {"buffered-64", 64}};

/// Starts what sends and what receives; `start` runs a function beside the caller, and the caller waits for all of them.
template <class Start>
void pass(const shape& who, std::uint64_t each, weft::channel<std::uint64_t> values, std::atomic<std::uint64_t>& received,
          Start&& start) {
    for (unsigned i = 0; i < who.receivers; ++i)
        start([values, &received]() mutable {
            std::uint64_t count = 0;
            while (values.receive()) ++count;
            received += count;
        });
    const auto last_to_close = values.tx();                    // or a first sender that is quick would close it for the others
    for (unsigned i = 0; i < who.senders; ++i)
        start([values = values.tx(), each]() mutable {
            for (std::uint64_t k = 0; k < each; ++k) values.send(k);
        });
}

template <class Crew>
double time_of_a_value(const shape& who, const storage& in, std::uint64_t n, Crew&& crew) {
    const auto each = n / who.senders + 1;
    std::atomic<std::uint64_t> received = 0;
    const double time = nanoseconds([&] { crew(who, each, weft::channel<std::uint64_t>(in.capacity), received); });
    if (received != each * who.senders) throw std::logic_error("a value was lost, or came twice");
    return time / static_cast<double>(received);
}

constexpr auto crew_of_fibers = [](const shape& who, std::uint64_t each, const auto& values, auto& received) {
    weft::with_scope([&](weft::scope& all) { pass(who, each, values, received, [&](auto f) { all.spawn(std::move(f)); }); });
};
constexpr auto crew_of_threads = [](const shape& who, std::uint64_t each, const auto& values, auto& received) {
    std::vector<std::jthread> all;
    pass(who, each, values, received, [&](auto f) { all.emplace_back(std::move(f)); });
};

using ready_channels = std::vector<weft::channel<std::uint64_t>>;

/// Each channel is filled; then as many times as one holds values `once` takes one from any of them. So all are ready at every time.
template <std::size_t Channels, class Once>
double of_what_is_ready(std::uint64_t n, Once&& once) {
    constexpr std::uint64_t batch = 1024;
    ready_channels ready;
    for (std::size_t i = 0; i < Channels; ++i) ready.emplace_back(batch);
    std::uint64_t taken = 0, wanted = 0;
    double time = 0;
    for (; wanted < n; wanted += batch) {
        for (auto& c : ready)
            while (c.size() < batch) c.send(1);
        time += nanoseconds([&] {
            for (std::uint64_t i = 0; i < batch; ++i) taken += once(ready);
        });
    }
    if (taken != wanted) throw std::logic_error("a value was not there");
    return time / static_cast<double>(taken);
}

std::uint64_t select_of_four(ready_channels& ready) {
    std::uint64_t got = 0;
    const auto take = [&](std::optional<std::uint64_t> v) { got = v.value_or(0); };
    weft::select(weft::on_receive(ready[0], take), weft::on_receive(ready[1], take), weft::on_receive(ready[2], take),
                 weft::on_receive(ready[3], take));
    return got;
}
std::uint64_t receive(ready_channels& ready) { return ready[0].receive().value_or(0); }
std::uint64_t receive_in_time(ready_channels& ready) {
    return weft::with_timeout(1h, [&] { return receive(ready); });
}

void what_is_ready(session& s, unsigned workers, std::uint64_t n) {
    s.measure({"fibers/select-of-4-ready", workers, n}, [&] { return of_what_is_ready<4>(n, select_of_four); });
    s.measure({"fibers/receive-ready", workers, n}, [&] { return of_what_is_ready<1>(n, receive); });
    s.measure({"fibers/receive-ready/with-timeout", workers, n}, [&] { return of_what_is_ready<1>(n, receive_in_time); });
}

/// From a plain thread's send to the fiber that gets it, on a runtime that has nothing else to do; the middle of many.
double wake_latency(weft::runtime& idle, unsigned times) {
    using clock = std::chrono::steady_clock;
    weft::channel<clock::time_point> calls(1);
    std::vector<double> latencies;
    auto listener = idle.spawn([&] {
        while (const auto sent = calls.receive())
            latencies.push_back(std::chrono::duration<double, std::nano>(clock::now() - *sent).count());
    });
    for (unsigned i = 0; i < times; ++i) {
        std::this_thread::sleep_for(1ms);                      // long enough for the workers to fall asleep
        calls.send(clock::now());
    }
    calls.close();
    listener.join();
    std::ranges::nth_element(latencies, latencies.begin() + times / 2);
    return latencies[times / 2];
}

/// Percent of one CPU that a runtime without work uses.
double idle_cpu(std::chrono::nanoseconds during) {
    const auto before = process_cpu_time();
    std::this_thread::sleep_for(during);
    return 100 * std::chrono::duration<double>(process_cpu_time() - before) / std::chrono::duration<double>(during);
}

void while_idle(session& s, unsigned workers, std::uint64_t n) {
    const auto times = static_cast<unsigned>(std::min<std::uint64_t>(n, 200));
    weft::runtime idle({.workers = workers});
    s.measure({"fibers/wake-idle", workers, times}, [&] { return wake_latency(idle, times); });
    s.measure({"fibers/idle-cpu", workers, times, "%"}, [&] { return idle_cpu(times * 1ms); });
}

}  // namespace

void channel_workload(session& s) {
    const auto n = s.n(1'000'000);
    const auto few = s.at_most(50'000, n);
    for (const auto workers : s.workers()) {
        on_workers(workers, [&] {
            for (const auto& who : shapes)
                for (const auto& in : storages)
                    s.measure({std::string("fibers/") + who.name + '/' + in.name, workers, n},
                              [&] { return time_of_a_value(who, in, n, crew_of_fibers); });
            what_is_ready(s, workers, n);
        });
        while_idle(s, workers, n);
    }
    for (const auto& who : shapes)
        for (const auto& in : storages)
            s.measure({std::string("threads/") + who.name + '/' + in.name, who.senders + who.receivers, few},
                      [&] { return time_of_a_value(who, in, few, crew_of_threads); });
}

}  // namespace bench
