// main.cpp - the benchmarks by Boost.Fiber; a call and a yield by Boost.Context below it.
#include <boost/context/fiber.hpp>

#include "fibonacci.hpp"
#include "peer.hpp"
#include "workers.hpp"

void channels(const peer::request&);
void mutexes(const peer::request&);
void preempt(const peer::request&);

namespace {

using namespace peer;

void yield(std::uint64_t times) {
    for (std::uint64_t i = 0; i < times; ++i) boost::this_fiber::yield();
}

void switches(const request& r) {
    const auto half = r.n / 2 + 1;
    measure(r, {"yield", r.n, "ns"}, [&] {
        return nanoseconds([&] {
                   fibers::fiber other([&] { yield(half); });
                   yield(half);
                   other.join();
               }) /
               static_cast<double>(r.n);
    });
    measure(r, {"call-and-yield", r.n, "ns"}, [&] {
        bool over = false;
        boost::context::fiber called([&](boost::context::fiber&& caller) {
            while (!over) caller = std::move(caller).resume();
            return std::move(caller);
        });
        const double time = nanoseconds([&] {
            for (std::uint64_t i = 0; i < r.n; ++i) called = std::move(called).resume();
        });
        over = true;
        called = std::move(called).resume();
        return time / static_cast<double>(r.n);
    });
}

void start_empty(std::uint64_t n, fibers::launch how) {
    countdown ended(n);
    for (std::uint64_t i = 0; i < n; ++i) start([&] { ended.done(); }, how);
    ended.wait();
}
void run_as_spawned(std::uint64_t n) { start_empty(n, fibers::launch::dispatch); }
void batch(std::uint64_t n) { start_empty(n, fibers::launch::post); }

void spawn(const request& r) {
    const auto each = static_cast<double>(r.n);
    measure(r, {"run-as-spawned", r.n, "ns"}, [&] { return nanoseconds([&] { run_as_spawned(r.n); }) / each; });
    measure(r, {"batch", r.n, "ns"}, [&] { return nanoseconds([&] { batch(r.n); }) / each; });
}

void parked(const request& r) {
    countdown arrived(r.n), event(1), ended(r.n);
    const auto park = [&] {
        for (std::uint64_t i = 0; i < r.n; ++i)
            start([&] {
                arrived.done();
                event.wait();
                ended.done();
            });
        arrived.wait();
    };
    measure_parked(r, park, [&] {
        event.done();
        ended.wait();
    });
}

struct seat {
    fibers::unbuffered_channel<int> channel;
    bool receive(int& number) { return channel.pop(number) == fibers::channel_op_status::success; }
    void send(int number) { channel.push(number); }
    void close() { channel.close(); }
};

void ring(const request& r) {
    measure(r, {"channels", r.n, "ns"}, [&] {
        std::vector<seat> seats(members);
        return nanoseconds([&] {
                   countdown ended(members);
                   for (std::size_t i = 0; i < members; ++i)
                       start([&, i] {
                           take_part(seats[i], seats[(i + 1) % members]);
                           ended.done();
                       });
                   seats[0].send(static_cast<int>(r.n));
                   ended.wait();
               }) /
               static_cast<double>(r.n);
    });
}

using sums_channel = fibers::buffered_channel<std::uint64_t>;

void by_channels(share mine, sums_channel& up) {
    if (mine.count == 1) {
        up.push(mine.first);
        return;
    }
    sums_channel sums(16);
    countdown gone(share::children);   // the channel is a local of this fiber
    std::uint64_t started = 0, sum = 0, value = 0;
    for (std::uint64_t i = 0; i < share::children; ++i) {
        const auto part = mine.part(i);
        if (part.count == 0) {
            gone.done();
            continue;
        }
        start([&, part] {
            by_channels(part, sums);
            gone.done();
        });
        ++started;
    }
    while (started-- > 0) sums.pop(value), sum += value;
    gone.wait();
    up.push(sum);
}

std::uint64_t tree(share whole) {
    sums_channel top(2);
    std::uint64_t sum = 0;
    countdown gone(1);
    start([&] {
        by_channels(whole, top);
        gone.done();
    });
    top.pop(sum);
    gone.wait();
    return sum;
}

std::uint64_t fib(unsigned n) {
    if (n < 2) return n;
    std::uint64_t left = 0;
    fibers::fiber other(std::allocator_arg, small_stacks(), [&left, n] { left = fib(n - 1); });
    const auto right = fib(n - 2);
    other.join();
    return left + right;
}

void feed(const request& r) {
    measure_feed(r, [](std::vector<person>& people) {
        countdown fed(people.size());
        for (auto& p : people)
            start([&] {
                while (!p.satisfied()) {
                    p.eat();
                    boost::this_fiber::yield();
                }
                fed.done();
            });
        fed.wait();
    });
}

void fibonacci(const request& r) {
    measure_fibonacci(r, "total/gmp", [](auto piece) {
        countdown ended(pieces);
        for (unsigned i = 0; i < pieces; ++i)
            start([&] {
                piece();
                ended.done();
            });
        ended.wait();
    });
}

template <void (*Run)(const request&)>
void in_fibers(const request& r) {
    on_workers(r.workers, [&] { Run(r); });
}
void skynet(const request& r) { measure_skynet(r, "channels", tree); }
void forkjoin(const request& r) { measure_forkjoin(r, fib); }
void peak_as_spawned(const request& r) { measure_peak(r, "run-as-spawned", run_as_spawned); }
void peak_of_batch(const request& r) { measure_peak(r, "batch", batch); }

}  // namespace

int main(int argc, char** argv) {
    return peer::main(argc, argv,
                      std::array<benchmark, 13>{{
                          {"switch", in_fibers<switches>},
                          {"spawn", in_fibers<spawn>},
                          {"peak-memory/run-as-spawned", in_fibers<peak_as_spawned>},
                          {"peak-memory/batch", in_fibers<peak_of_batch>},
                          {"parked", in_fibers<parked>},
                          {"ring", in_fibers<ring>},
                          {"skynet", in_fibers<skynet>},
                          {"forkjoin", in_fibers<forkjoin>},
                          {"feed", in_fibers<feed>},
                          {"fibonacci", in_fibers<fibonacci>},
                          {"mutex", in_fibers<mutexes>},
                          {"channel", in_fibers<channels>},
                          {"preempt", in_fibers<preempt>},
                      }});
}
