// parked.cpp - a million fibers that wait for one event: what each holds meanwhile, what it costs to park and to wake it; and what an
// actor holds that has handled a message and waits for the next. Beside it what the system alone takes for so many stacks (`calls`).
// Every run is a process of its own, or the memory of one run would be there already for the next.
//
// Rows of the seeds (docs/seeds/rows.md): seed_N9.
#include <sys/mman.h>

#include <atomic>
#include <stdexcept>
#include <vector>

#include <weft/actor.hpp>
#include <weft/wait_group.hpp>

#include "crowd.hpp"
#include "memory.hpp"
#include "session.hpp"
#include "timing.hpp"
#include "workloads.hpp"

namespace bench {
namespace {

/// Starts n fibers and returns when each of them waits for the event.
double park_all(std::uint64_t n, weft::wait_group& event) {
    std::atomic<std::uint64_t> arrived = 0;
    return nanoseconds([&] {
        for (std::uint64_t i = 0; i < n; ++i) {
            weft::spawn_detached([&] {
                arrived.fetch_add(1, std::memory_order_relaxed);
                event.wait();
            });
            if (i % 256 == 255) weft::this_fiber::yield();
        }
        while (arrived.load(std::memory_order_relaxed) < n) weft::this_fiber::yield();
    });
}

double wake_all(weft::wait_group& event) {
    return nanoseconds([&] {
        event.done();
        until_alone();
    });
}

void once(session& s, unsigned workers, std::uint64_t n) {
    const auto each = static_cast<double>(n);
    on_workers(workers, [&] {
        weft::wait_group event(1);
        const auto memory = resident_bytes(), tables = page_table_bytes();
        const double parking = park_all(n, event);
        const auto held = static_cast<double>(resident_bytes()) - static_cast<double>(memory);
        const auto mapped = static_cast<double>(page_table_bytes()) - static_cast<double>(tables);
        const double waking = wake_all(event);
        s.report({"fibers/memory", workers, n, "B"}, {held / each});
        s.report({"fibers/memory-and-page-tables", workers, n, "B"}, {(held + mapped) / each});
        s.report({"fibers/park", workers, n}, {parking / each});
        s.report({"fibers/wake", workers, n}, {waking / each});
        s.report({"fibers/park-and-wake", workers, n}, {(parking + waking) / each});
    });
}

/// The floor of parking: a guard below each of n stacks and the first touch of its uppermost page. \returns nanoseconds each.
double guard_and_touch(std::uint64_t n) {
    constexpr int advise_guard_install = 102;      // MADV_GUARD_INSTALL, Linux 6.13
    constexpr std::size_t page = 4096;
    const std::size_t stride = weft::runtime_options{}.stack_bytes + page, bytes = n * stride;
    void* const all = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED) throw std::runtime_error("no address space for so many stacks");
    ::madvise(all, bytes, MADV_NOHUGEPAGE);
    auto* const base = static_cast<std::byte*>(all);
    const double time = nanoseconds([&] {
        for (std::uint64_t i = 0; i < n; ++i) {
            std::byte* const low = base + i * stride;
            if (::madvise(low, page, advise_guard_install) != 0) ::mprotect(low, page, PROT_NONE);  // an older kernel
            static_cast<volatile std::byte&>(low[stride - 1]) = std::byte{1};
        }
    });
    ::munmap(all, bytes);
    return time / static_cast<double>(n);
}

/// Does nothing, and so waits for messages nearly all of its life.
struct idler {
    void handle(int) {}
};

void actors(session& s, unsigned workers, std::uint64_t n) {
    on_workers(workers, [&] {
        std::vector<weft::actor_ref<idler>> all;
        all.reserve(n);
        weft::spawn_actor<idler>({}).ask(0);
        const auto memory = resident_bytes();
        for (std::uint64_t i = 0; i < n; ++i) {
            all.push_back(weft::spawn_actor<idler>({}));
            if (i % 64 == 63) weft::this_fiber::yield();
        }
        for (const auto& a : all) a.ask(0);
        const auto held = static_cast<double>(resident_bytes()) - static_cast<double>(memory);
        s.report({"fibers/actors/memory", workers, n, "B"}, {held / static_cast<double>(n)});
    });
}

}  // namespace

void parked_workload(session& s) {
    const auto n = s.n(1'000'000);
    if (s.part() == "actors") return actors(s, s.workers().front(), n);
    if (s.part() == "pages") return s.report({"calls/guard-and-touch", 1, n}, {guard_and_touch(n)});
    if (!s.part().empty()) return once(s, s.workers().front(), n);
    s.report({"calls/guard-and-touch", 1, n}, std::move(s.in_fresh_processes("pages", 1, n, s.runs()).at("calls/guard-and-touch")));
    for (const auto workers : s.workers()) {
        auto figures = s.in_fresh_processes("all", workers, n, s.runs());
        for (const char* const bytes : {"fibers/memory", "fibers/memory-and-page-tables"})
            s.report({bytes, workers, n, "B"}, std::move(figures.at(bytes)));
        for (const char* const time : {"fibers/park", "fibers/wake", "fibers/park-and-wake"})
            s.report({time, workers, n}, std::move(figures.at(time)));
        const auto few = s.at_most(100'000, n);
        s.report({"fibers/actors/memory", workers, few, "B"},
                 std::move(s.in_fresh_processes("actors", workers, few, s.runs()).at("fibers/actors/memory")));
    }
}

}  // namespace bench
