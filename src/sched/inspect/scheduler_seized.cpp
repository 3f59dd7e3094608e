// scheduler_seized.cpp - keeps waiting fibers from going on while a caller uses their stacks.
#include <weft/detail/annotated_locks.hpp>

#include <algorithm>
#include <array>
#include <span>

#include "sched/scheduler.hpp"

namespace weft::detail {
namespace {

constexpr std::size_t most_at_once = 16;

// Without membarrier the heavy fence is an ordinary one and needs a partner on the other side
// (WAIT_WORD-7). There the exchange of a claim is a full fence on x86-64 and under TSan only.
bool is_possible() noexcept {
#if defined(__x86_64__) || defined(WEFT_TSAN)
    return true;
#else
    return fences_are_unequal;
#endif
}

class seized_fibers {
public:
    explicit seized_fibers(std::span<control_block* const> some) noexcept {
        for (auto* const f : some)
            // state() is a hint
            if (f->cold().word.state() == wait_state::waiting && f->cold().word.seize()) all_[count_++] = f;
        if (count_ != 0) heavy_fence();  // one fence for all of them
    }
    ~seized_fibers() {
        while (count_ != 0) release(*all_[--count_]);
    }
    seized_fibers(const seized_fibers&) = delete;
    seized_fibers& operator=(const seized_fibers&) = delete;

    void for_each(const std::function<void(control_block&)>& f) {
        for (; count_ != 0; --count_) {
            control_block& last = *all_[count_ - 1];
            if (last.cold().word.is_seized()) f(last);
            release(last);
        }
    }

private:
    static void release(control_block& f) noexcept { f.cold().word.unseize(); }

    std::array<control_block*, most_at_once> all_;
    std::size_t count_ = 0;
};

}  // namespace

void scheduler::for_each_seized(std::span<control_block* const> of_these, std::size_t at_once,
                              const std::function<void(control_block&)>& f) {
    if (!is_possible()) return;
    const lock_guard one(holding_);
    for (at_once = std::min(at_once, most_at_once); !of_these.empty();) {
        const auto some = of_these.first(std::min(at_once, of_these.size()));
        seized_fibers(some).for_each(f);
        of_these = of_these.subspan(some.size());
    }
}

}  // namespace weft::detail
