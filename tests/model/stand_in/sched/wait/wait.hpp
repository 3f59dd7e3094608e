// wait.hpp - sched/wait/wait.hpp in the model build: whoever waits is a plain thread, and sleeps on a futex until it was unparked or its
// deadline, which passes at any moment (MODEL_SCHEDULER-5), or a stop has ended the wait.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include <weft/detail/local_core.hpp>

#include "base/futex.hpp"
#include "fiber/control_block.hpp"
#include "fiber/interrupts.hpp"
#include "fiber/waiter.hpp"
#include "model/model.hpp"
#include "sched/wait/wait_end.hpp"

namespace weft::detail {

/// The cells of the threads of one run; the first thing a body makes.
class parties {
public:
    enum class stops : bool { none, some };

    explicit parties(stops s = stops::none) noexcept : stops_(s) { here_ = this; }
    ~parties() { here_ = nullptr; }
    parties(const parties&) = delete;
    parties& operator=(const parties&) = delete;

    static wait_cell& self() noexcept { return caller().cell; }
    /// The calling thread's values under keys.
    static std::vector<std::unique_ptr<local_value>>& values() noexcept { return caller().values; }

    /// Asks thread `t` to end, as a fiber's handle does.
    void stop(unsigned t) noexcept {
        all_[t].cell.stops.fetch_add(1, relaxed);
        heavy_fence();  // WAIT_WORD-5
        interrupt(all_[t].cell);
    }
    /// Where nobody is stopped, nobody looks: the look would be one more step of each wait.
    static bool may_be_stopped() noexcept { return here_->stops_ == stops::some; }

private:
    struct party {
        atomic<std::uint32_t> signal{0};
        wait_cell cell{signal};
        std::vector<std::unique_ptr<local_value>> values;
    };
    static party& caller() noexcept { return here_->all_[model::execution::running().schedule().self()]; }

    const stops stops_;
    std::array<party, model::max_threads> all_;

    static inline parties* here_ = nullptr;
};

struct wait_options {
    const wait_kind& kind;
    const void* object = nullptr;
    time_point deadline = never;
    interruptible may_stop = interruptible::yes;
};

inline wait_cell& caller_cell() noexcept { return parties::self(); }

class wait {
public:
    explicit wait(const wait_options& options) noexcept : wait(caller_cell(), options) {}
    wait(wait_cell& of_caller, const wait_options& options) noexcept
        : cell_(of_caller), signal_(*of_caller.thread_signal), has_deadline_(options.deadline != never) {
        signal_.store(0, relaxed);
        ticket_ = cell_.word.begin(options.may_stop);
        const bool may_stop = parties::may_be_stopped() && options.may_stop == interruptible::yes;
        if (may_stop && cell_.stops.load(relaxed) != 0) interrupt(cell_);  // WAIT_WORD-5
    }
    wait(const wait&) = delete;
    wait& operator=(const wait&) = delete;

    wait_cell& cell() noexcept { return cell_; }
    wait_ticket ticket() const noexcept { return ticket_; }
    wait_outcome index() const noexcept { return cell_.outcome; }

    wait_end park() noexcept {
        while (signal_.load(acquire) == 0) {  // pairs with unpark()
            const auto deadline = has_deadline_ ? std::optional<monotonic_ns>(0) : std::nullopt;
            if (futex_wait(signal_, 0, deadline) == futex_result::timed_out && cell_.word.claim(ticket_)) {
                cell_.word.end_claimed();
                return wait_end::timed_out;
            }
        }
        return cell_.outcome == outcome_stopped ? wait_end::stopped : wait_end::notified;
    }

    bool abandon() noexcept {
        if (!cell_.word.claim(ticket_)) return false;
        cell_.word.end_claimed();
        return true;
    }

private:
    wait_cell& cell_;
    atomic<std::uint32_t>& signal_;
    const bool has_deadline_;
    wait_ticket ticket_;
};

inline void unpark_inline(wait_cell& cell) noexcept { unpark(cell); }

inline control_block* this_fiber_block() noexcept { return nullptr; }  // nobody is a fiber

}  // namespace weft::detail
