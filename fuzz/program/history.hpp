// history.hpp - what the fibers of a random program did, each in a book of its own, so that writing it down changes nothing.
//
// Each operation has two stamps of one counter: one before it began, one after it was over. What it did it did in between; and of two
// operations of which one was over before the other began the order is known. That is all the judgement goes by (verdict.hpp), so it is
// right for one thread and for many.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <limits>
#include <mutex>
#include <string>
#include <vector>

#include <weft/simulation.hpp>

#include "program/program.hpp"

namespace weft::fuzz {

using stamp = std::uint64_t;  // 0: not yet
using nanoseconds = std::int64_t;

enum class deed : std::uint8_t {
    send,
    receive,
    close,
    select,
    lock,
    unlock,
    put,
    take,
    acquire,
    release,
    set,
    reset,
    wait,
    spawn,
    join,
    drop,
    stop,
    scope_end,
    stop_scope,
    group_wait,
    group_done,
    yield,
    sleep,
    alarm,
};
std::string_view name(deed) noexcept;

/// How long it waits: as long as need be, not at all, up to a limit, or until the alarm.
enum class form : std::uint8_t { waits, tries, timed, alarmed };
enum class ending : std::uint8_t { pending, done, closed, not_now, timeout, alarmed, cancelled, failed };
std::string_view name(ending) noexcept;

constexpr nanoseconds no_limit = std::numeric_limits<nanoseconds>::max();

/// One case of a select that was made.
struct case_log {
    arm::kind what = arm::kind::receive;
    std::uint8_t object = 0;
    std::uint64_t value = 0;  // offered, or the number of the fiber
    bool chosen = false, closed = false;
    std::uint64_t received = 0;
};

struct operation {
    deed what = deed::yield;
    form how = form::waits;
    unsigned object = 0;  // channel, mutex, event, scope or group
    std::uint64_t value = 0;  // sent or received; the number of a fiber; how many members
    nanoseconds limit = no_limit;  // not earlier than then may it be over for lack of time
    std::vector<case_log> cases = {};

    ending ended = ending::pending;
    stamp begun = 0, over = 0;
    nanoseconds from = 0, until = 0;
};

/// A with_timeout or a shield that encloses operations.
struct enclosure {
    nanoseconds earliest = 0, latest = no_limit;  // between which its time ends
    stamp begun = 0, over = 0;
};

struct book {
    unsigned number = 0;  // 1, 2, ...
    int scope = -1;  // whose child it is
    std::vector<operation> operations;
    std::vector<enclosure> deadlines, shields;
    std::atomic<stamp> ended{0};
    stamp failed = 0;  // its body threw what a program throws
    std::uint32_t sent = 0;
};

struct scope_log {
    unsigned owner = 0;
    stamp begun = 0, body_failed = 0;
};

/// Of one run.
class history {
public:
    stamp now() noexcept { return 1 + stamps_.fetch_add(1, std::memory_order_seq_cst); }
    static nanoseconds time() noexcept { return weft::now().time_since_epoch().count(); }

    book& new_book(int scope) {
        const std::lock_guard guard(lock_);
        auto& b = books_.emplace_back();
        b.number = static_cast<unsigned>(books_.size());
        b.scope = scope;
        return b;
    }
    int new_scope(unsigned owner) {
        const std::lock_guard guard(lock_);
        auto& s = scopes_.emplace_back();
        s.owner = owner;
        s.begun = now();
        return static_cast<int>(scopes_.size()) - 1;
    }
    scope_log& scope(int number) {
        const std::lock_guard guard(lock_);
        return scopes_[static_cast<std::size_t>(number)];
    }
    unsigned new_group() noexcept { return groups_.fetch_add(1, std::memory_order_relaxed); }  // a number, nothing more
    void complain(std::string what) {
        const std::lock_guard guard(lock_);
        complaints_.push_back(std::move(what));
    }

    // When nobody writes any more:
    const std::deque<book>& books() const noexcept { return books_; }
    const std::deque<scope_log>& scopes() const noexcept { return scopes_; }
    std::vector<std::string>& complaints() noexcept { return complaints_; }

    stamp all_stopped = 0;  // before everybody was asked to
    stamp last_call = 0;  // when all had ended, and what was left was taken out

private:
    std::atomic<stamp> stamps_{0};
    std::atomic<unsigned> groups_{0};
    std::mutex lock_;
    std::deque<book> books_;
    std::deque<scope_log> scopes_;
    std::vector<std::string> complaints_;
};

std::string in_words(const operation&, unsigned fiber);
/// Everything that happened, in order of beginning.
std::string written(const history&);

}  // namespace weft::fuzz
