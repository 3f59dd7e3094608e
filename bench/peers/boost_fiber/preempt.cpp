// preempt.cpp - a fiber that ticks every millisecond beside others that compute, each for as long as the ticks take.
#include "peer.hpp"
#include "workers.hpp"

namespace {

using namespace peer;
using clock_type = std::chrono::steady_clock;

/// A hog's round takes 10 to 100 us.
struct hog {
    const char* name;
    void (*round)();
};

void recursion() {
    if (fib_by_calls(20) == 0) fail("fib is wrong");
}
void loop() {
    std::uint64_t x = 1;
    for (int i = 0; i < 100'000; ++i) {
        x = x * 6364136223846793005U + 1442695040888963407U;
        asm volatile("" : "+r"(x));   // the compiler must not sum the series up
    }
}

constexpr hog hogs[] = {{"recursion", recursion}, {"loop", loop}};

/// Does the work beside k hogs, which stop when it ends or after their time.
template <class F>
void beside(unsigned k, void (*round)(), std::chrono::milliseconds most, F&& work) {
    std::atomic<bool> over{false};
    countdown ended(k);
    for (unsigned i = 0; i < k; ++i)
        start([&] {
            for (const auto end = clock_type::now() + most; !over && clock_type::now() < end;) round();
            ended.done();
        });
    work();
    over = true;
    ended.wait();
}

/// The median, the 90th and 99th percentile and the largest of n ticks, in microseconds.
std::vector<double> lateness(std::uint64_t n) {
    std::vector<double> late;
    for (auto due = clock_type::now(); late.size() < n;) {
        due += std::chrono::milliseconds(1);
        boost::this_fiber::sleep_until(due);
        late.push_back(std::chrono::duration<double, std::micro>(clock_type::now() - due).count());
    }
    std::sort(late.begin(), late.end());
    return {late[n / 2], late[n * 9 / 10], late[n * 99 / 100], late.back()};
}

double two_sleep(std::chrono::milliseconds span) {
    return nanoseconds([&] {
               countdown awake(2);
               for (int i = 0; i < 2; ++i)
                   start([&] {
                       boost::this_fiber::sleep_for(span);
                       awake.done();
                   });
               awake.wait();
           }) /
           1e6;
}

}  // namespace

void preempt(const peer::request& r) {
    const std::chrono::milliseconds span(r.n);
    measure(r, {"sleepers-beside-fib", r.n, "ms"}, [&] {
        double took = 0;
        beside(r.workers, recursion, 3 * span, [&] { took = two_sleep(span); });
        return took;
    });
    for (const auto& h : hogs)
        for (const unsigned k : {1U, 4U, 16U}) {
            std::vector<label> labels;
            for (const char* const figure : {"p50", "p90", "p99", "max"})
                labels.push_back({std::string(h.name) + '-' + std::to_string(k) + '/' + figure, r.n, "us"});
            measure(r, labels, [&] {
                std::vector<double> late;
                beside(k, h.round, span, [&] { late = lateness(r.n); });
                return late;
            });
        }
}
