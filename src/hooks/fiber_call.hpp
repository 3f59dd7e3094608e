// fiber_call.hpp - one call of a hooked function by a fiber: its waits, and what is counted of them.
//
// Counts are kept per place of call, that is per return address, for weft::hooks::report().
#pragma once

#include <cerrno>
#include <cstdint>

#include "base/atomic.hpp"
#include "hooks/table.hpp"

namespace weft::hooks {

/// What was done at one place.
struct call_count {
    detail::atomic<const void*> caller{nullptr};
    detail::atomic<const char*> name{nullptr};
    // relaxed: statistics
    detail::atomic<std::uint64_t> calls{0}, parks{0}, blocks{0};
    detail::atomic<bool> is_told_of{false};  // that it retries
};

/// The counts of a place. When there are too many places, the rest share one.
call_count& count_of(const void* caller, const char* name) noexcept;

/// As hook_library::for_each_count().
void for_each_count(void (*f)(const detail::hook_count&, void*), void* what);

/// Counts a call that did not park. \returns whether the calling fiber has made many in a row.
bool has_had_its_share() noexcept;
void begin_share() noexcept;
/// Counts a call that a stop has ended, in place of begin_share(). \returns whether the fiber has made so many
/// at this place that it seems to retry for ever.
bool is_a_retry(const void* caller) noexcept;
inline constexpr unsigned most_retries = 1000;  // required: by docs/design/hooks.md

class fiber_call {
public:
    /// \param name  a constant: the function's.
    fiber_call(const hook_table& t, const char* name, const void* caller, int descriptor = -1, const void* object = nullptr,
               const volatile int* owner = nullptr) noexcept
        : table_(t), count_(count_of(caller, name)), call_{name, caller, descriptor, object, owner} {
        count_.calls.fetch_add(1, detail::relaxed);
    }
    /// A fiber that never parks lets others run from time to time.
    ~fiber_call() {
        if (was_stopped_ && is_a_retry(call_.caller) && !count_.is_told_of.exchange(true, detail::relaxed))  // once
            table_.retries(call_, most_retries);
        if (has_parked_ && !was_stopped_)
            begin_share();
        else if (has_had_its_share())
            table_.pause();
    }
    fiber_call(const fiber_call&) = delete;
    fiber_call& operator=(const fiber_call&) = delete;

    std::int64_t now() const noexcept { return table_.now(); }

    // The functions of the table.
    long wait(const pollfd* wanted, std::size_t count, std::int64_t until) noexcept {
        note_park();
        return noted(table_.wait(wanted, count, until, call_));
    }
    long sleep(std::int64_t until) noexcept {
        note_park();
        return noted(table_.sleep(until, call_));
    }
    long elsewhere(void (*call)(void*), void* what) noexcept {
        note_park();
        return noted(table_.elsewhere(call, what, call_));
    }
    int lock_wait(int (*attempt)(void*), void* what, std::int64_t until) noexcept {
        note_park();
        return table_.lock_wait(attempt, what, until, call_);
    }
    int condition_wait(void (*unlock)(void*), void* what, std::int64_t until) noexcept {
        note_park();
        return table_.condition_wait(unlock, what, until, call_);
    }

    /// The call that follows may block the thread.
    void note_block() noexcept { count_.blocks.fetch_add(1, detail::relaxed); }

private:
    void note_park() noexcept {
        has_parked_ = true;
        count_.parks.fetch_add(1, detail::relaxed);
    }

    long noted(long result) noexcept {
        was_stopped_ = result == -ECANCELED;
        return result;
    }

    const hook_table& table_;
    call_count& count_;
    const hook_call call_;
    bool has_parked_ = false, was_stopped_ = false;
};

}  // namespace weft::hooks
