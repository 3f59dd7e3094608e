#include <weft/movable_deadline.hpp>

#include <weft/detail/annotated_locks.hpp>

namespace weft {

steady_time_point movable_deadline::expiry() const {
    const detail::lock_guard guard(lock_);
    return at_;
}

// Waiters look again at the time they know of. So they are woken only if the deadline moves to an
// earlier time.
void movable_deadline::move(steady_time_point to) {
    const detail::lock_guard guard(lock_);
    const bool is_earlier = to < at_;
    at_ = to;
    if (is_earlier) earlier_.notify_all();
}

void movable_deadline::wait() {
    detail::unique_lock guard(lock_);
    while (at_ == detail::never || detail::clock::now() < at_) {
        if (at_ == detail::never)
            earlier_.wait(guard);
        else
            static_cast<void>(earlier_.wait_until(guard, at_));
    }
}

}  // namespace weft
