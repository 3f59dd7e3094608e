// outside.hpp - how a fiber gets and loses its identity, and how a carrier leaves it during a switch.
#pragma once

#include "fiber/control_block.hpp"
#include "sched/identity/thread_identity.hpp"
#include "stack/stack.hpp"

namespace weft::detail {

/// While it lives, the carrier runs under its own thread pointer (THREAD_IDENTITY-2). It may begin on one
/// carrier and end on another.
class outside_identity {
public:
    explicit outside_identity(control_block& self) noexcept : its_(self.is_any(rare_identity) ? self.home->identity : nullptr) {
        if (its_) [[unlikely]]
            its_->leave();
    }
    ~outside_identity() {
        if (its_) [[unlikely]]
            its_->enter();
    }
    outside_identity(const outside_identity&) = delete;
    outside_identity& operator=(const outside_identity&) = delete;

private:
    thread_identity* const its_;
};

/// Whether fibers can have identities in this process. If not, one line on stderr says so, once.
/// \throws as identities_here() does
bool fibers_can_be_threads();
/// Gives an identity to a fiber that has not started. \throws std::system_error, std::bad_alloc
void give_identity(control_block& f);
/// Enters the identity of the calling fiber, which has just started.
void begin_identity(control_block& self) noexcept;
/// Takes the identity from a fiber that has not entered it.
void take_identity_back(control_block& f) noexcept;
/// Leaves the identity of the calling fiber for good, and gives it back to the pool.
void leave_identity(control_block& self) noexcept;

}  // namespace weft::detail
