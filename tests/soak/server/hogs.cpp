// hogs.cpp - arithmetic, and a recursive query.
#include "soak/server/hogs.hpp"

#include <sqlite3.h>

#include <cmath>
#include <memory>
#include <stdexcept>

#include <weft/scope.hpp>

namespace soak {

namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

void calculate_until(clock::time_point end) {
    volatile double x = 1;
    while (clock::now() < end)
        for (int i = 0; i < 10'000; ++i) x = std::sqrt(x + i);
}

/// Called by SQLite every so many steps of its machine. \returns whether the query is to be interrupted.
int is_over(void* end) { return clock::now() >= *static_cast<const clock::time_point*>(end); }

void query_until(clock::time_point end) {
    sqlite3* opened = nullptr;
    const int result =
        sqlite3_open_v2(":memory:", &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX, nullptr);
    const std::unique_ptr<sqlite3, int (*)(sqlite3*)> db(opened, sqlite3_close_v2);
    if (result != SQLITE_OK) throw std::runtime_error(sqlite3_errstr(result));
    constexpr int steps = 10'000;
    sqlite3_progress_handler(opened, steps, is_over, &end);
    const char* const endless = "with recursive n(i) as (select 1 union all select i + 1 from n) select sum(i % 7) from n";
    const int ended = sqlite3_exec(opened, endless, nullptr, nullptr, nullptr);
    if (ended != SQLITE_INTERRUPT) throw std::runtime_error(sqlite3_errstr(ended));
}

}  // namespace

void compute_for(std::chrono::milliseconds time, code of) {
    const auto end = clock::now() + time;
    if (of == code::own)
        calculate_until(end);
    else
        query_until(end);
}

void hog_herd::run() {
    weft::with_scope([&](weft::scope& hogs) {
        for (;;) {
            weft::this_fiber::sleep_for(std::chrono::milliseconds(std::uniform_int_distribution(100, 800)(random_)));
            if (!on_.load()) continue;
            for (int together = std::uniform_int_distribution(1, 2)(random_); together > 0; --together) {
                const std::chrono::milliseconds time(
                    static_cast<int>(5 * std::pow(100.0, std::uniform_real_distribution(0.0, 1.0)(random_))));
                const code of = random_() % 2 == 0 ? code::own : code::foreign;
                hogs.spawn({.name = hog_name}, [time, of] { compute_for(time, of); });
                started_.fetch_add(1);
            }
        }
    });
}

}  // namespace soak
