// baton.hpp - the smallest object to wait for, written as any primitive is: tests of waiting need no channel.
#pragma once

#include <weft/stop.hpp>

#include <mutex>

#include "base/spin_lock.hpp"
#include "sched/wait/wait_on.hpp"

namespace weft::test {

inline constexpr detail::wait_kind baton_wait{.name = "baton"};

/// Counts what was posted and not yet taken. Fibers and plain threads alike.
class baton {
public:
    /// Takes one; waits for it. \parks \throws cancelled
    void take() {
        if (!take_for(detail::never)) throw cancelled();
    }
    /// \returns false if none came until then. \parks \throws cancelled
    bool take_until(detail::time_point until) { return take_for(until); }

    /// Wakes the one that has waited longest, or stays.
    void post() noexcept {
        detail::waiter* waits;
        {
            const std::lock_guard guard(lock_);
            waits = waiting_.claim_front();
            if (!waits) ++posted_;
        }
        if (waits) waits->unpark();
    }

private:
    bool take_for(detail::time_point until) {
        detail::check_interrupt();
        lock_.lock();
        if (posted_ > 0) {
            --posted_;
            lock_.unlock();
            return true;
        }
        const auto how = detail::wait_on(lock_, waiting_, {.kind = baton_wait, .object = this, .deadline = until});
        if (how == detail::wait_end::stopped) throw cancelled();
        return how == detail::wait_end::notified;
    }

    detail::spin_lock lock_;
    int posted_ = 0;
    detail::wait_list waiting_;
};

}  // namespace weft::test
