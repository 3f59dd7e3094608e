// skynet.cpp - a tree of fibers with ten children each, whose leaves hand up their numbers to be added.
#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>

#include <weft/channel.hpp>
#include <weft/fiber.hpp>

#include "session.hpp"
#include "timing.hpp"
#include "workloads.hpp"

namespace bench {
namespace {

constexpr std::uint64_t children = 10;

/// The leaves [first, first + count) of child i, when they are dealt out evenly.
struct share {
    std::uint64_t first, count;
};
share share_of(share whole, std::uint64_t i) {
    const auto from = whole.count * i / children, to = whole.count * (i + 1) / children;
    return {whole.first + from, to - from};
}

void by_channels(share mine, weft::channel<std::uint64_t> up) {
    if (mine.count == 1) return up.send(mine.first);
    weft::channel<std::uint64_t> sums(children);
    std::uint64_t started = 0, sum = 0;
    for (std::uint64_t i = 0; i < children; ++i)
        if (const auto part = share_of(mine, i); part.count > 0) weft::spawn_detached(by_channels, part, sums), ++started;
    while (started-- > 0) sum += sums.receive().value();
    up.send(sum);
}

std::uint64_t by_joins(share mine) {
    if (mine.count == 1) return mine.first;
    std::array<weft::fiber<std::uint64_t>, children> parts;
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < children; ++i)
        if (const auto part = share_of(mine, i); part.count > 0) parts[i] = weft::spawn(by_joins, part);
    for (auto& part : parts)
        if (part.joinable()) sum += part.join();
    return sum;
}

template <class F>
double checked(std::uint64_t n, F&& tree) {
    std::uint64_t sum = 0;
    const double time = nanoseconds([&] { sum = tree(); });
    if (sum != n * (n - 1) / 2) throw std::logic_error("skynet added up to " + std::to_string(sum));
    return time / 1e6;
}

}  // namespace

void skynet_workload(session& s) {
    const auto n = s.n(1'000'000);
    for (const auto workers : s.workers())
        on_workers(workers, [&] {
            s.measure({"fibers/channels", workers, n, "ms"}, [&] {
                return checked(n, [&] {
                    weft::channel<std::uint64_t> top(1);
                    weft::spawn_detached(by_channels, share{0, n}, top);
                    return top.receive().value();
                });
            });
            s.measure({"fibers/joins", workers, n, "ms"}, [&] {
                return checked(n, [&] { return weft::spawn(by_joins, share{0, n}).join(); });
            });
        });
}

}  // namespace bench
