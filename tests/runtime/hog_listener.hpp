// hog_listener.hpp - the fixture of tests of hog reports: what was reported, and fibers to be reported.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include <weft/runtime.hpp>

#include "support/eventually.hpp"
#include "support/no_leaks.hpp"

namespace weft::test {

/// What a report said, kept.
struct heard {
    fiber_id id;
    std::string name, file, blocked_in;
    hog_report::doing what;
    std::chrono::nanoseconds held, computed;
    int thread;
    std::vector<void*> stack;
    std::uint64_t left_out;
};

/// A runtime whose reports are kept; others always wait, so that hogs are in the way.
class hog_reports : public no_leaks {
protected:
    runtime_options listening(unsigned workers = 1) {
        return {
            .workers = workers, .time_slice = std::chrono::milliseconds(1), .on_hog = [this](const hog_report& r) { keep(r); }};
    }
    void keep(const hog_report& r) {
        const std::lock_guard guard(lock_);
        kept_.push_back({r.fiber.id,
                         std::string(r.fiber.name),
                         r.fiber.site.file_name(),
                         std::string(r.blocked_in),
                         r.what,
                         r.held,
                         r.computed,
                         r.thread,
                         {r.stack.begin(), r.stack.end()},
                         r.left_out});
    }
    std::vector<heard> all() {
        const std::lock_guard guard(lock_);
        return kept_;
    }
    std::vector<heard> of(std::string_view name) {
        auto them = all();
        std::erase_if(them, [&](const heard& h) { return h.name != name; });
        return them;
    }
    bool is_heard_of(std::string_view name) {
        return eventually([&] { return !of(name).empty(); });
    }
    /// Somebody who waits now and then, until `over`.
    fiber<> ticker(runtime& rt) {
        return rt.spawn([this] {
            while (!over) this_fiber::sleep_for(std::chrono::milliseconds(1));
        });
    }
    fiber<> grinder(runtime& rt, std::string_view name) {
        return rt.spawn({.name = name}, [this] {
            while (!over) {}
        });
    }

    std::atomic<bool> over{false};

private:
    std::mutex lock_;
    std::vector<heard> kept_;
};

}  // namespace weft::test
