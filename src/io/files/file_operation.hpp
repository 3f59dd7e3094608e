// file_operation.hpp - an operation that a fiber has given to a file engine, and waits for.
//
//  stage      frame and buffer belong to      leaves by
//  given      the engine                      the engine takes it from the list -> waiting
//                                             the list is closed -> ended (refused)
//  waiting    the engine                      there is room in the ring -> in_flight
//                                             the wish to cancel it is taken -> ended (-ECANCELED)
//  in_flight  the kernel                      its completion is taken from the ring -> ended
//  ended      the fiber, once nothing of the  -
//             operation is in the list
//
// Invariants
//   FILE_OPERATION-1  An operation lies in the frame of its fiber. The fiber leaves the frame only
//                     after `ended`, and after the wish to cancel, if there was one, was taken from
//                     the list, too: until then `held_` is not zero.
//   FILE_OPERATION-2  A stop or a deadline does not end the wait for an operation. It makes the fiber
//                     submit a wish to cancel, once; what ends the wait is the completion.
//   FILE_OPERATION-3  The engine does not touch an operation after the let_go() that made held_ zero.
//   FILE_OPERATION-4  One operation has one completion: no multishot, no buffer that the kernel
//                     chooses, no second notification.
#pragma once

#include <weft/detail/annotated_locks.hpp>

#include <cstdint>

#include "base/hook_table.hpp"
#include "base/intrusive_list.hpp"
#include "base/spin_lock.hpp"
#include "io/files/file_request.hpp"
#include "io/files/submissions.hpp"
#include "sched/wait/wait_on.hpp"

namespace weft::detail {

inline constexpr wait_kind file_wait{.name = "file", .ends = ended_by::outside, .shows_call = true};
inline constexpr wait_kind file_cancel_wait{.name = "cancelled file", .ends = ended_by::outside, .shows_call = true};

enum class file_entry_is : std::uint8_t { operation, cancellation, end };

/// What the list of an engine has in it.
struct file_entry : submission {
    explicit file_entry(file_entry_is k) noexcept : kind(k) {}
    const file_entry_is kind;
};

class file_operation : public file_entry, public list_hook<file_operation> {
public:
    enum class stage : std::uint8_t { given, waiting, in_flight, ended };

    explicit file_operation(const file_request& r) noexcept
        : file_entry(file_entry_is::operation),
          request(r),
          call_{.name = name(r.action), .caller = nullptr, .descriptor = r.descriptor} {}

    const file_request request;

    /// What the fiber submits if it is interrupted.
    struct cancellation : file_entry {
        explicit cancellation(file_operation& o) noexcept : file_entry(file_entry_is::cancellation), of(o) {}
        file_operation& of;
    };

    // For the fiber.

    /// \parks    until nothing of the operation is left with the engine (FILE_OPERATION-1).
    /// \returns  notified, or why the wait was interrupted.
    wait_end wait_for_end(const wait_kind& shown_as, interruptible may_stop) noexcept {
        lock_.lock();
        if (held_ == 0) {
            lock_.unlock();
            return wait_end::notified;
        }
        return wait_on(lock_, waiters_, {.kind = shown_as, .object = &call_, .may_stop = may_stop});
    }
    /// Before the wish to cancel it is submitted. False: it has ended.
    [[nodiscard]] bool hold_for_cancellation() noexcept {
        const lock_guard guard(lock_);
        if (held_ == 0) return false;
        ++held_;
        return true;
    }
    /// After the end. Empty if the engine never made it, because it has no ring.
    // Not analysed: nothing is written any more.
    long result() const noexcept { return result_; }
    bool was_refused() const noexcept { return refused_; }

    // For the engine's thread, and for whichever thread takes what a closed list has left.

    void end(long result) noexcept {
        at = stage::ended;
        result_ = result;
        let_go();
    }
    void refuse() noexcept {
        refused_ = true;
        end(0);
    }
    /// Its wish to cancel was taken, or it has ended itself (FILE_OPERATION-3).
    void let_go() noexcept {
        waiter* w = nullptr;
        {
            const lock_guard guard(lock_);
            if (--held_ == 0) w = waiters_.claim_front();
        }
        if (w) w->unpark();
    }

    stage at = stage::given;  // the engine's

private:
    const hook_call call_;
    long result_ = 0;  // ordered by lock_
    bool refused_ = false;  // as result_
    spin_lock lock_;
    unsigned held_ WEFT_GUARDED_BY(lock_) = 1;
    wait_list waiters_ WEFT_GUARDED_BY(lock_);
};

}  // namespace weft::detail
