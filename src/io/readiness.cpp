// readiness.cpp - io_readiness: asks poll(2), and links a waiter to the source.
#include <weft/detail/io_readiness.hpp>

#include "io/current.hpp"
#include "io/poll_wait.hpp"
#include "io/source.hpp"

namespace weft::detail {
namespace {

bool is_ready(int fd, io_direction way) noexcept {
    long result;
    do result = poll_now(fd, way);
    while (result == -EINTR);
    return result == 0;
}

}  // namespace

void io_readiness::open() noexcept { entered_ = source_ && source_->enter(); }

void io_readiness::close() noexcept {
    if (entered_) source_->leave();
}

select_watch::state io_readiness::look() noexcept {
    // The read will report what is wrong.
    if (!entered_ || source_->closing() || source_->attach() != 0) return state::ready;
    seen_ = source_->events(way_);
    if (is_ready(source_->descriptor(), way_)) return state::ready;
    return current_io() || source_->is_watched() ? state::idle : state::unwatched;
}

bool io_readiness::enlist(waiter& w) noexcept { return source_->enlist(w, way_, seen_); }

void io_readiness::delist(waiter& w) noexcept {
    if (entered_) source_->delist(w, way_);
}

}  // namespace weft::detail
