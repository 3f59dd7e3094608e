// execution.cpp - the operations of one run: schedule, apply the memory rules, write the trace, judge.
#include "model/execution.hpp"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace model {
namespace {

std::uint32_t runs = 0;  // of this process, so that an identity from an earlier run is never taken for one of this

}  // namespace

execution::execution(choices& c, const options& o)
    : choices_(c),
      memory_(c, {.spurious = o.spurious, .reorderings = o.reorderings}),
      scheduler_(c, {.preemptions = o.preemptions, .steps = o.max_steps, .spurious = o.spurious,
                     .timeouts = o.timeouts}),
      weaken_(o.weaken),
      mutant_(o.mutant) {}

void execution::restart() {
    run_ = ++runs;
    joined_ = added_ = 0;
    memory_.restart();
    scheduler_.restart();
    trace_.restart();
    buckets_.clear();
}

execution& execution::running() {
    if (running_ == nullptr) {
        std::fputs("model: a modelled variable is used outside of model::explore()\n", stderr);
        std::abort();
    }
    return *running_;
}

void execution::thread(std::function<void()> body) {
    if (added_ + 1 == max_threads) {
        std::fputs("model: too many threads in one run\n", stderr);
        std::abort();
    }
    added_ = scheduler_.add(std::move(body));
    memory_.fork(0, added_);
}

void execution::join_all() {
    scheduler_.run_all();
    if (failed()) throw abandoned{};
    while (joined_ < added_) memory_.join(0, ++joined_);
}

// After a failure the body still unwinds: its destructors may use atomics, and find the newest values.
void execution::point(access kind, const history* where, std::memory_order order) {
    if (scheduler_.inside())
        scheduler_.before({.kind = kind, .sc = order == std::memory_order_seq_cst, .where = where});
}

void execution::done(const char* what, const history* h, std::memory_order order, const outcome& r) {
    trace_.add({.who = scheduler_.self(), .what = what, .location = h ? h->number() : event::none, .order = order,
                .result = r, .ordered = true});
    judge();
}

std::memory_order execution::effective(operation_kind kind, const history* h, std::memory_order order) const {
    if (!weaken_) return order;
    return weaken_({kind, h ? h->number() : event::none, scheduler_.self(), order});
}

void execution::note(const char* what) { trace_.add({.who = scheduler_.self(), .what = what, .result = {}}); }

void execution::judge() {
    if (memory_.fault() != nullptr && !failed()) fail(memory_.fault());
}

void execution::born(identity& id, std::uint64_t initial) {
    id = {run_, memory_.create(scheduler_.self(), initial).number()};
}

history& execution::locate(identity& id, std::uint64_t initial) {
    if (id.run != run_) id = {run_, memory_.create_before_all(initial).number()};
    return memory_.location(id.number);
}

void execution::gone(const identity& id) {
    if (id.run != run_ || failed()) return;
    memory_.destroy(scheduler_.self(), memory_.location(id.number));
    judge();
}

std::uint64_t execution::load(history& h, std::memory_order order) {
    order = effective(operation_kind::load, &h, order);
    point(access::read, &h, order);
    const outcome r = memory_.load(scheduler_.self(), h, order);
    if (scheduler_.inside()) scheduler_.looked_at(h);
    done("load", &h, order, r);
    return r.read;
}

void execution::store(history& h, std::uint64_t value, std::memory_order order) {
    order = effective(operation_kind::store, &h, order);
    point(access::write, &h, order);
    done("store", &h, order, memory_.store(scheduler_.self(), h, value, order));
}

std::uint64_t execution::modify(history& h, const char* what, memory::modify f, std::uint64_t operand,
                                std::memory_order order) {
    order = effective(operation_kind::modify, &h, order);
    point(access::write, &h, order);
    const outcome r = memory_.read_modify_write(scheduler_.self(), h, f, operand, order);
    if (scheduler_.inside()) scheduler_.looked_at(h);
    done(what, &h, order, r);
    return r.read;
}

outcome execution::compare_exchange(history& h, memory::exchange x) {
    x.success = effective(operation_kind::exchange, &h, x.success);
    x.failure = effective(operation_kind::failed_exchange, &h, x.failure);
    const bool sc = x.success == std::memory_order_seq_cst || x.failure == std::memory_order_seq_cst;
    point(access::write, &h, sc ? std::memory_order_seq_cst : x.success);
    const outcome r = memory_.compare_exchange(scheduler_.self(), h, x);
    if (scheduler_.inside()) scheduler_.looked_at(h);
    done(r.stored ? "cas" : "cas failed", &h, r.stored ? x.success : x.failure, r);
    return r;
}

// membarrier(2): a full fence in every thread, each at some moment between call and return, and in the caller before and after.
void execution::heavy_fence() {
    fence(std::memory_order_seq_cst);
    if (effective(operation_kind::heavy_fence, nullptr, std::memory_order_seq_cst) == std::memory_order_seq_cst) {
        for (thread_id t = 1; t <= scheduler_.threads(); ++t) {
            if (t == scheduler_.self()) continue;
            point(access::fence_elsewhere, nullptr, std::memory_order_seq_cst);
            memory_.fence(t, std::memory_order_seq_cst);
        }
        done("fence everywhere", nullptr, std::memory_order_seq_cst, {});
    }
    fence(std::memory_order_seq_cst);
}

void execution::fence(std::memory_order order) {
    order = effective(operation_kind::fence, nullptr, order);
    if (order == std::memory_order_seq_cst) point(access::sc_fence, nullptr, order);
    memory_.fence(scheduler_.self(), order);  // a weaker fence concerns its own thread only: not a step of the schedule
    done("fence", nullptr, order, {});
}

void execution::relax() {
    if (!scheduler_.inside()) return;
    note("relax");
    scheduler_.relax();
}

unsigned execution::plain_number(identity& id) {
    if (id.run != run_) id = {run_, memory_.create_plain_before_all()};
    return id.number;
}

void execution::plain_born(identity& id) { id = {run_, memory_.create_plain(scheduler_.self())}; }

void execution::plain_read(identity& id) {
    memory_.plain_read(scheduler_.self(), plain_number(id));
    if (memory_.fault() != nullptr) note("plain read");
    judge();
}

void execution::plain_write(identity& id) {
    memory_.plain_write(scheduler_.self(), plain_number(id));
    if (memory_.fault() != nullptr) note("plain write");
    judge();
}

void execution::plain_gone(identity& id) {
    if (id.run != run_ || failed()) return;
    memory_.destroy_plain(scheduler_.self(), id.number);
    judge();
}

execution::futex execution::futex_wait(const void* address, history& h, std::uint64_t expected, bool has_deadline) {
    scheduler_.before({.kind = access::futex_wait, .where = &h, .address = address});
    const outcome r = memory_.kernel_load(scheduler_.self(), h, buckets_[address]);
    done(r.read == expected ? "futex sleep" : "futex no", &h, std::memory_order_relaxed, r);
    if (r.read != expected) return futex::changed;
    const auto reason = scheduler_.sleep(address, has_deadline);
    note(reason == scheduler::wake_reason::timed_out ? "timed out" : "woken");
    return reason == scheduler::wake_reason::timed_out ? futex::timed_out : futex::woken;
}

int execution::futex_wake(const void* address, int n) {
    if (scheduler_.inside()) scheduler_.before({.kind = access::futex_wake, .address = address});
    buckets_[address].join(memory_.knowledge(scheduler_.self()));
    auto asleep = scheduler_.sleepers(address);
    int woken = 0;
    for (; woken < n && !asleep.empty(); ++woken) {
        const unsigned which = choices_.choose(static_cast<unsigned>(asleep.size()));
        scheduler_.wake(asleep[which]);
        asleep.erase(asleep.begin() + static_cast<std::ptrdiff_t>(which));
    }
    note(woken == 0 ? "wakes nobody" : "wakes");
    return woken;
}

std::string execution::report() const {
    std::string out = failed() ? scheduler_.failure() : std::string("no failure");
    out += "\nrun (each line: thread, operation, location, order, value)\n" + trace_.text();
    out += "replay with options{.replay = \"" + choices_.text() + "\"} and the same bounds\n";
    return out;
}

}  // namespace model
