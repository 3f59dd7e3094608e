// scheduler.cpp - the choice of the next thread by the rules MODEL_SCHEDULER-1 to
// MODEL_SCHEDULER-5.
#include "model/scheduler.hpp"

#include <algorithm>
#include <utility>

namespace model {
namespace {

scheduler* starting = nullptr;  // run_body() is entered without arguments

}  // namespace

void scheduler::restart() {
    count_ = 1;
    self_ = 0;
    prologue_ = false;
    preemptions_ = steps_here_ = sleep_set_ = 0;
    spurious_left_ = limits_.spurious;
    timeouts_left_ = limits_.timeouts;
    redundant_ = false;
    for (thread& t : threads_) t.now = state::done;
}

thread_id scheduler::add(std::function<void()> body) {
    thread& t = threads_.at(count_);
    t.body = std::move(body);
    t.now = state::ready;
    t.next = {};
    t.reason = wake_reason::woken;
    t.looked.clear();
    t.stack.start_with(&scheduler::run_body);
    return count_++;
}

void scheduler::run_body() {
    scheduler& s = *starting;
    thread& t = s.threads_[s.self_];
    t.body();
    t.body = nullptr;  // here, so that what it captured ends within the run
    t.now = state::done;
    const thread_id next = s.prologue_ ? 0 : s.pick();
    s.switch_to(next, coroutine::then::ends);
}

void scheduler::switch_to(thread_id to, coroutine::then self_then) {
    coroutine& from = self_ == 0 ? os_thread_ : threads_[self_].stack;
    self_ = to;
    coroutine::go(from, to == 0 ? os_thread_ : threads_[to].stack, self_then);
}

void scheduler::run_all() {
    starting = this;
    prologue_ = true;
    for (thread_id t = 1; t < count_ && failure_.empty(); ++t)
        if (threads_[t].now == state::ready) switch_to(t, coroutine::then::resumes);
    prologue_ = false;
    if (failure_.empty()) {
        const thread_id first = pick();
        if (first != 0) switch_to(first, coroutine::then::resumes);
    }
    sleep_set_ = 0;
}

void scheduler::before(const step& s) {
    threads_[self_].next = s;
    go_on();
}

void scheduler::go_on() {
    const thread_id next = prologue_ ? 0 : pick();
    if (next != self_) switch_to(next, coroutine::then::resumes);
    threads_[self_].next = {};
}

void scheduler::looked_at(history& h) {
    auto& looked = threads_[self_].looked;
    if (std::find(looked.begin(), looked.end(), &h) == looked.end()) looked.push_back(&h);
}

void scheduler::relax() {
    thread& t = threads_[self_];
    t.now = t.looked.empty() ? state::yielding : state::spinning;
    go_on();
    for (history* h : t.looked)
        if (h->has_news_for(self_)) h->expect_news(self_);
    t.looked.clear();
    t.now = state::ready;
}

scheduler::wake_reason scheduler::sleep(const void* address, bool has_deadline) {
    thread& t = threads_[self_];
    t.address = address;
    t.has_deadline = has_deadline;
    t.reason = wake_reason::woken;
    t.now = state::asleep;
    t.looked.clear();
    t.next = {.kind = access::timeout, .address = address};
    go_on();
    if (t.now == state::asleep) end_own_sleep(t);
    return t.reason;
}

void scheduler::end_own_sleep(thread& t) {
    t.now = state::ready;
    // With neither left, time passes (MODEL_SCHEDULER-5).
    const bool may_time_out = t.has_deadline && (timeouts_left_ > 0 || spurious_left_ == 0);
    const bool either = may_time_out && spurious_left_ > 0;
    const bool times_out = either ? choices_.choose(2) == 0 : may_time_out;
    t.reason = times_out ? wake_reason::timed_out : wake_reason::spurious;
    if (!times_out) --spurious_left_;
    else if (timeouts_left_ > 0) --timeouts_left_;
}

std::vector<thread_id> scheduler::sleepers(const void* address) const {
    std::vector<thread_id> out;
    for (thread_id t = 1; t < count_; ++t)
        if (threads_[t].now == state::asleep && threads_[t].address == address) out.push_back(t);
    return out;
}

void scheduler::wake(thread_id t) {
    threads_[t].now = state::ready;
    threads_[t].next = {};
}

bool scheduler::can_go_on(thread_id t, unsigned timeouts, unsigned spurious) const {
    const thread& x = threads_[t];
    switch (x.now) {
        case state::ready:
        case state::yielding: return true;
        case state::spinning:
            return std::any_of(x.looked.begin(), x.looked.end(), [&](history* h) { return h->has_news_for(t); });
        case state::asleep: return (x.has_deadline && timeouts > 0) || spurious > 0;
        case state::done: return false;
    }
    return false;
}

std::vector<thread_id>& scheduler::runnable() {
    options_.clear();
    const auto gather = [&](unsigned timeouts, unsigned spurious) {
        if (self_ != 0 && threads_[self_].now == state::ready) options_.push_back(self_);
        for (thread_id t = 1; t < count_; ++t)
            if (t != self_ && can_go_on(t, timeouts, spurious)) options_.push_back(t);
        if (self_ != 0 && threads_[self_].now != state::ready && can_go_on(self_, timeouts, spurious))
            options_.push_back(self_);
    };
    gather(timeouts_left_, spurious_left_);
    if (options_.empty()) gather(1, 0);  // time passes (MODEL_SCHEDULER-5)
    return options_;
}

thread_id scheduler::pick() {
    ++steps_;
    if (++steps_here_ > limits_.steps) fail("livelock: the run has not ended after the allowed number of steps");
    std::vector<thread_id>& options = runnable();
    if (options.empty()) {
        const bool all_done = std::all_of(threads_.begin(), threads_.end(),
                                          [](const thread& t) { return t.now == state::done; });
        if (!all_done) fail(why_stuck());
        return 0;
    }
    const bool self_could = self_ != 0 && threads_[self_].now == state::ready;
    // MODEL_SCHEDULER-2
    if (self_could && preemptions_ >= limits_.preemptions && options.size() > 1) {
        bound_hid_runs_ = true;
        options.resize(1);  // runnable() lists self first
    }
    const thread_id next = choose_from(options);
    if (self_could && next != self_) ++preemptions_;
    return next;
}

thread_id scheduler::choose_from(std::vector<thread_id>& options) {
    if (limits_.preemptions != unlimited) return options[choices_.choose(static_cast<unsigned>(options.size()))];

    const auto in_sleep_set = [&](thread_id t) { return (sleep_set_ >> t & 1U) != 0; };
    if (choices_.branching()) {
        const thread_id fallback = options.front();
        std::erase_if(options, in_sleep_set);
        if (options.empty()) {  // every continuation is equal to one that has been run: finish this one and forget it
            redundant_ = true;
            choices_.stop_branching();
            return fallback;
        }
    }
    const unsigned taken = choices_.choose(static_cast<unsigned>(options.size()));
    for (unsigned i = 0; i < taken; ++i) sleep_set_ |= 1U << options[i];
    const thread_id next = options[taken];
    for (thread_id t = 1; t < count_; ++t)
        if (in_sleep_set(t) && !independent(threads_[t].next, threads_[next].next)) sleep_set_ &= ~(1U << t);
    return next;
}

std::string scheduler::why_stuck() const {
    std::string out = "deadlock:";
    for (thread_id t = 1; t < count_; ++t) {
        if (threads_[t].now == state::asleep) out += " T" + std::to_string(t) + " sleeps on a futex;";
        if (threads_[t].now == state::spinning)
            out += " T" + std::to_string(t) + " spins on words that nobody will change;";
    }
    out.pop_back();
    return out;
}

void scheduler::fail(std::string why) {
    if (failure_.empty()) failure_ = std::move(why);
    choices_.stop_branching();  // the body's destructors still run, and are no part of the path
    if (inside()) switch_to(0, coroutine::then::ends);
}

}  // namespace model
