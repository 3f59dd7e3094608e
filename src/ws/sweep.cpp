#include "ws/sweep.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <weft/fiber.hpp>

#include "base/never_destroyed.hpp"
#include "spawn/admission.hpp"

namespace weft::detail::ws {
namespace {

// chosen: a limit of seconds is late by a tenth at most, and ten thousand looks are short beside it
constexpr std::chrono::nanoseconds longest_period = std::chrono::milliseconds(500);
constexpr std::chrono::nanoseconds shortest_period = std::chrono::milliseconds(5);

struct sweep_of_runtime {
    const scheduler* home;
    std::weak_ptr<sweep> one;
};

struct all_sweeps {
    thread_mutex lock;
    std::vector<sweep_of_runtime> list WEFT_GUARDED_BY(lock);
};

all_sweeps& sweeps() {
    static all_sweeps all;
    return all;
}

}  // namespace

std::shared_ptr<sweep> sweep::here() {
    const auto& home = runtime_here("weft::ws::connection");
    auto& all = sweeps();
    const lock_guard guard(all.lock);
    std::erase_if(all.list, [](const auto& s) { return s.one.expired(); });
    for (const auto& s : all.list)
        if (s.home == &home)
            if (auto found = s.one.lock()) return found;
    auto made = std::make_shared<sweep>();
    all.list.push_back({&home, made});
    return made;
}

void swept::enter() {
    auto in = sweep::here();
    in->enter(*this);
    in_ = std::move(in);
}

void swept::leave() noexcept {
    if (const auto in = std::exchange(in_, nullptr)) in->leave(*this);
}

void sweep::enter(swept& s) {
    bool begins = false, is_shorter = false;
    {
        const lock_guard lock(mutex_);
        if (!is_running_) period_ = longest_period;
        const auto wanted = std::max(s.period() / 8, shortest_period);
        is_shorter = wanted < period_;
        period_ = std::min(period_, wanted);
        all_.push_back(s);
        begins = !std::exchange(is_running_, true);
    }
    if (begins)
        begin();
    else if (is_shorter)
        wake_.set();
}

void sweep::begin() {
    const auto& home = runtime_here("weft::ws::connection");
    if (limits_fibers(home)) return;  // is_running_ stays: no other is begun
    try {
        spawn_detached({.name = "WebSocket pings"}, [self = shared_from_this()] { self->run(); });
    } catch (const std::exception&) {  // no memory for it: the next to enter tries again
        const lock_guard lock(mutex_);
        is_running_ = false;
    }
}

void sweep::leave(swept& s) noexcept {
    const lock_guard lock(mutex_);
    all_.remove(s);
    if (!all_.front()) wake_.set();
}

bool sweep::goes_on(std::chrono::nanoseconds& period) {
    const lock_guard lock(mutex_);
    period = period_;
    return is_running_ = all_.front() != nullptr;
}

void sweep::run() {
    try {
        for (std::chrono::nanoseconds period; goes_on(period);)
            if (!wake_.wait_for(period)) look_at_all();
    } catch (...) {  // the runtime ends
        const lock_guard lock(mutex_);
        is_running_ = false;
        throw;
    }
}

void sweep::look_at_all() noexcept {
    const auto now = clock::now();
    const lock_guard lock(mutex_);
    for (auto* s = all_.front(); s; s = all_.next(*s)) s->look(now);
}

}  // namespace weft::detail::ws
