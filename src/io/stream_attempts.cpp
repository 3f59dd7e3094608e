#include "io/stream_attempts.hpp"

#include <algorithm>
#include <mutex>
#include <new>

#include <weft/detail/io_readiness.hpp>
#include <weft/select.hpp>

#include "io/operation.hpp"
#include "io/reporting.hpp"
#include "io/socket_io.hpp"

namespace weft::detail {
namespace {

// chosen: a record of TLS
constexpr std::size_t read_ahead_bytes = std::size_t{16} * 1024;

/// The right to read ahead.
class reader_turn {
public:
    explicit reader_turn(counting_semaphore<1>& of) : of_(of) { of_.acquire(); }
    reader_turn(const reader_turn&) = delete;
    reader_turn& operator=(const reader_turn&) = delete;
    ~reader_turn() { of_.release(); }

private:
    counting_semaphore<1>& of_;
};

}  // namespace

std::optional<std::size_t> stream_attempts::read_now(std::span<std::byte> into, std::error_code& error) {
    error.clear();
    if (source_) {
        seen_ = source_->events(io_direction::read);
        if (!looks_anew_ && source_->drained(seen_)) return std::nullopt;
        const auto n = stream_.try_read_some(into, error);
        if (!error && n && *n > 0 && *n < into.size()) source_->set_drained(seen_);
        return n;
    }
    seen_ = fills_;
    if (begin_ != end_) {
        const auto n = std::min(into.size(), end_ - begin_);
        std::copy_n(ahead_.get() + begin_, n, into.data());
        begin_ += n;
        if (begin_ == end_) ahead_.reset();  // so an idle stream holds none
        return n;
    }
    if (has_ended_) return 0;
    if (!reading_.try_acquire()) return std::nullopt;  // another reads ahead, and its bytes come first
    const auto n = stream_.try_read_some(into, error);
    reading_.release();
    return n;
}

void stream_attempts::wait_readable(moment since, std::error_code& error) {
    if (!source_) return read_ahead(since, error);
    const operation_guard guard(source_);
    error = guard ? wait_until_ready(*source_, io_direction::read, since, read_wait) : closed_error();
}

void stream_attempts::read_ahead(moment since, std::error_code& error) {
    reporting(error, [&] {
        const reader_turn turn(reading_);
        {
            const std::lock_guard guard(lock_);
            if (fills_ != since || begin_ != end_ || has_ended_) return;  // STREAM_ATTEMPTS-3
        }
        std::unique_ptr<std::byte[]> buffer(new std::byte[read_ahead_bytes]);
        const auto n = stream_.read_some({buffer.get(), read_ahead_bytes});
        const std::lock_guard guard(lock_);
        ahead_ = std::move(buffer);
        begin_ = 0;
        end_ = n;
        has_ended_ = n == 0;
        ++fills_;
    });
}

void stream_attempts::wait_for_either(moment since, std::error_code& error) {
    if (!source_) return read_ahead(since, error);
    reporting(error, [&] {
        select(watch_case<io_readiness, do_nothing>(io_readiness(source_), do_nothing()),
               watch_case<io_readiness, do_nothing>(io_readiness::to_write(source_), do_nothing()));
    });
}

void stream_attempts::tell_others() noexcept {
    if (source_) {
        const operation_guard guard(source_);
        if (guard) source_->on_event({.readable = true, .writable = false, .hangup = false});
        return;
    }
    const std::lock_guard guard(lock_);
    ++fills_;
}

void stream_attempts::share_thread(std::size_t bytes) noexcept {
    // chosen: a record of 16 KiB takes 11 us, and a system call 2 to 3
    constexpr std::size_t bytes_per_call = 4096;
    const auto weight = static_cast<std::uint32_t>(1 + bytes / bytes_per_call);
    if (source_ && source_->had_its_share(weight)) let_others_run();
}

}  // namespace weft::detail
