// sharing.cpp - fibers that share a channel or a mutex.
#include "peer.hpp"
#include "workers.hpp"

namespace {

using namespace peer;

constexpr unsigned many = 8;

struct shape {
    const char* name;
    unsigned senders, receivers;
};
constexpr shape shapes[] = {
    {"one-to-one", 1, 1}, {"many-to-one", many, 1}, {"one-to-many", 1, many}, {"many-to-many", many, many}};

template <class Channel>
double pass(const shape& who, std::uint64_t n, Channel& values) {
    const auto each = n / who.senders + 1;
    std::atomic<std::uint64_t> received = 0;
    const double time = nanoseconds([&] {
        countdown sent(who.senders), ended(who.receivers);
        for (unsigned i = 0; i < who.receivers; ++i)
            start([&] {
                std::uint64_t count = 0, value = 0;
                while (values.pop(value) == fibers::channel_op_status::success) ++count;
                received += count;
                ended.done();
            });
        for (unsigned i = 0; i < who.senders; ++i)
            start([&] {
                for (std::uint64_t k = 0; k < each; ++k) values.push(k);
                sent.done();
            });
        sent.wait();
        values.close();
        ended.wait();
    });
    if (received != each * who.senders) fail("a value was lost, or came twice");
    return time / static_cast<double>(received);
}

enum class owner { stays, gives_way };

double count(std::uint64_t n, unsigned counters, owner how) {
    fibers::mutex lock;
    std::uint64_t value = 0;
    const auto part = n / counters + 1;
    const double time = nanoseconds([&] {
        countdown ended(counters);
        for (unsigned i = 0; i < counters; ++i)
            start([&] {
                for (std::uint64_t k = 0; k < part; ++k) {
                    const std::lock_guard hold(lock);
                    ++value;
                    if (how == owner::gives_way) boost::this_fiber::yield();
                }
                ended.done();
            });
        ended.wait();
    });
    if (value != part * counters) fail("the mutex let two in");
    return time / static_cast<double>(value);
}

}  // namespace

void channels(const request& r) {
    for (const auto& who : shapes) {
        measure(r, {std::string(who.name) + "/rendezvous", r.n, "ns"}, [&] {
            fibers::unbuffered_channel<std::uint64_t> values;
            return pass(who, r.n, values);
        });
        measure(r, {std::string(who.name) + "/buffered-64", r.n, "ns"}, [&] {
            fibers::buffered_channel<std::uint64_t> values(64);
            return pass(who, r.n, values);
        });
    }
}

void mutexes(const request& r) {
    measure(r, {"alone", r.n, "ns"}, [&] { return count(r.n, 1, owner::stays); });
    const auto few = std::min<std::uint64_t>(r.n, 200'000);
    for (const unsigned counters : {2u, 8u}) {
        const auto among = "among-" + std::to_string(counters);
        measure(r, {among, r.n, "ns"}, [&] { return count(r.n, counters, owner::stays); });
        measure(r, {among + "/owner-yields", few, "ns"}, [&] { return count(few, counters, owner::gives_way); });
    }
}
