#include "io/stream_attempts.hpp"

#include <algorithm>
#include <new>

#include "io/operation.hpp"
#include "io/socket_io.hpp"

namespace weft::detail {
namespace {

// chosen: a record of TLS
constexpr std::size_t read_ahead_bytes = std::size_t{16} * 1024;

}  // namespace

std::optional<std::size_t> stream_attempts::read_now(std::span<std::byte> into, std::error_code& error) {
    error.clear();
    if (has_bytes()) {
        const auto n = std::min(into.size(), end_ - begin_);
        std::copy_n(ahead_.get() + begin_, n, into.data());
        begin_ += n;
        if (!has_bytes()) ahead_.reset();  // so an idle stream holds none
        return n;
    }
    if (has_ended_) return 0;
    if (!source_) return stream_.try_read_some(into, error);
    seen_ = source_->events(io_direction::read);
    if (source_->drained(seen_)) return std::nullopt;
    const auto n = stream_.try_read_some(into, error);
    if (!error && n && *n > 0 && *n < into.size()) source_->set_drained(seen_);
    return n;
}

void stream_attempts::wait_readable(std::error_code& error) {
    error.clear();
    if (source_) {
        const operation_guard guard(source_);
        error = guard ? wait_until_ready(*source_, io_direction::read, seen_, read_wait) : closed_error();
        return;
    }
    if (!ahead_) ahead_.reset(new (std::nothrow) std::byte[read_ahead_bytes]);
    if (!ahead_) {
        error = std::make_error_code(std::errc::not_enough_memory);
        return;
    }
    begin_ = 0;
    end_ = stream_.read_some({ahead_.get(), read_ahead_bytes}, error);
    has_ended_ = !error && end_ == 0;
    if (!has_bytes()) ahead_.reset();
}

void stream_attempts::share_thread() noexcept {
    if (source_ && source_->had_its_share()) let_others_run();
}

}  // namespace weft::detail
