// channel_bench.cpp - what one value through a channel costs: stored, handed over, selected, and between fiber and thread.
#include <weft/runtime.hpp>
#include <weft/select.hpp>

#include <benchmark/benchmark.h>

#include <string>
#include <thread>
#include <vector>

namespace {

using weft::channel;

template <class T>
T value_of(std::int64_t i) {
    if constexpr (std::is_same_v<T, std::string>)
        return std::string(24, static_cast<char>('a' + i % 26));
    else
        return static_cast<T>(i);
}

/// One party, nothing parks: the lock, the copy and the store.
template <class T>
void channel_store_and_take(benchmark::State& state) {
    const channel<T> c(static_cast<std::size_t>(state.range(0)));
    std::int64_t i = 0;
    for (auto _ : state) {
        c.send(value_of<T>(++i));
        benchmark::DoNotOptimize(c.receive());
    }
}
BENCHMARK(channel_store_and_take<int>)->ArgName("capacity")->Arg(64)->Arg(-1);
BENCHMARK(channel_store_and_take<std::string>)->ArgName("capacity")->Arg(64)->Arg(-1);

/// A producer and a consumer; ns per value.
template <class T>
void channel_stream(benchmark::State& state) {
    const auto capacity = static_cast<std::size_t>(state.range(0));
    weft::run(
        [&] {
            const channel<T> c(capacity);
            auto consumer = weft::spawn([c] {
                for (auto&& v : c) benchmark::DoNotOptimize(v);
            });
            std::int64_t i = 0;
            for (auto _ : state) c.send(value_of<T>(++i));
            c.close();
            consumer.join();
        },
        {.workers = static_cast<unsigned>(state.range(1))});
}
BENCHMARK(channel_stream<int>)->ArgNames({"capacity", "workers"})->ArgsProduct({{0, 1, 64, -1}, {1, 2}})->UseRealTime();
BENCHMARK(channel_stream<std::string>)->ArgNames({"capacity", "workers"})->ArgsProduct({{0, 64}, {1, 2}})->UseRealTime();

/// There and back over two rendezvous channels; ns per round trip.
template <class Start>
void ping_pong(benchmark::State& state, unsigned workers, Start start) {
    weft::run(
        [&] {
            const channel<int> there, back;
            auto partner = start([=] {
                for (int v : there) back.send(v);
            });
            for (auto _ : state) {
                there.send(1);
                benchmark::DoNotOptimize(back.receive());
            }
            there.close();
            partner.join();
        },
        {.workers = workers});
}
void channel_ping_pong_fibers(benchmark::State& state) {
    ping_pong(state, static_cast<unsigned>(state.range(0)), [](auto body) { return weft::spawn(body); });
}
BENCHMARK(channel_ping_pong_fibers)->ArgName("workers")->Arg(1)->Arg(2)->UseRealTime();

void channel_ping_pong_fiber_and_thread(benchmark::State& state) {
    ping_pong(state, 1, [](auto body) { return std::thread(body); });
}
BENCHMARK(channel_ping_pong_fiber_and_thread)->UseRealTime();

/// A select among n channels of which one is ready.
void channel_select_ready(benchmark::State& state) {
    const channel<int> ready(1), idle[3];
    const auto take = [](std::optional<int> v) { benchmark::DoNotOptimize(v); };
    for (auto _ : state) {
        ready.send(1);
        weft::select(weft::on_receive(idle[0], take), weft::on_receive(ready, take), weft::on_receive(idle[1], take),
                     weft::on_receive(idle[2], take));
    }
}
BENCHMARK(channel_select_ready);

struct inputs {
    explicit inputs(std::int64_t n) {
        const auto take = [](std::optional<int> v) { benchmark::DoNotOptimize(v); };
        for (std::int64_t i = 0; i < n; ++i) {
            channels.emplace_back(1);
            cases.emplace_back(weft::on_receive(channels.back(), take));
        }
    }
    std::vector<channel<int>> channels;
    std::vector<weft::select_case> cases;
};

/// A select at run time among n channels of which one is ready; ns per value.
void channel_select_one_of(benchmark::State& state) {
    inputs all(state.range(0));
    for (auto _ : state) {
        all.channels.front().send(1);
        weft::select(all.cases);
    }
}
BENCHMARK(channel_select_one_of)->Arg(4)->Arg(100)->Arg(5000);

/// All n are ready, and taken in one batch; ns per batch.
void channel_select_all_of(benchmark::State& state) {
    inputs all(state.range(0));
    for (auto _ : state) {
        for (const auto& c : all.channels) c.send(1);
        weft::select_all(all.cases);
    }
    state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(channel_select_all_of)->Arg(4)->Arg(100)->Arg(5000);

/// Two fibers meet in selects over two rendezvous channels each; ns per value.
void channel_select_stream(benchmark::State& state) {
    weft::run(
        [&] {
            const channel<int> a, b, quit;
            auto consumer = weft::spawn([=] {
                bool open = true;
                const auto take = [](std::optional<int> v) { benchmark::DoNotOptimize(v); };
                while (open)
                    weft::select(weft::on_receive(a, take), weft::on_receive(b, take),
                                 weft::on_receive(quit, [&](std::optional<int>) { open = false; }));
            });
            for (auto _ : state) weft::select(weft::on_send(a, 1), weft::on_send(b, 1));
            quit.close();
            consumer.join();
        },
        {.workers = 1});
}
BENCHMARK(channel_select_stream)->UseRealTime();

}  // namespace
