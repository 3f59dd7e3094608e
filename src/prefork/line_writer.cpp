#include "prefork/line_writer.hpp"

#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <stop_token>
#include <string_view>
#include <utility>

#include <weft/blocking.hpp>

#include "base/direct.hpp"

namespace weft::prefork {
namespace {

constexpr std::size_t most_bytes = 1 << 20;  // chosen: some thousand lines, or 16 of the longest
constexpr std::chrono::milliseconds look_for_a_stop(50);  // chosen: a stop of the master is not held up by more

/// Blocks its thread, until there is room or a stop is asked for. Pieces of PIPE_BUF find room when
/// poll() says so, and lines up to that are not mixed with those of other processes.
void write_line(int to, std::string_view text, const std::stop_token& stop) {
    while (!text.empty() && !stop.stop_requested()) {
        struct pollfd state {
            .fd = to, .events = POLLOUT, .revents = 0
        };
        if (detail::direct::poll(&state, 1, look_for_a_stop) <= 0) continue;
        const auto n = detail::direct::write(to, text.data(), std::min<std::size_t>(text.size(), PIPE_BUF));
        if (n < 0 && n != -EAGAIN && n != -EINTR) return;  // nobody reads it
        if (n > 0) text.remove_prefix(static_cast<std::size_t>(n));
    }
}

}  // namespace

void line_writer::add(int to, std::string text) {
    const std::lock_guard lock(mutex_);
    bytes_ += text.size();
    lines_.push_back({to, std::move(text)});
    for (; bytes_ > most_bytes && lines_.size() > 1; ++dropped_) {
        bytes_ -= lines_.front().text.size();
        lines_.pop_front();
    }
    changed_.notify_all();
}

void line_writer::write_until_stopped() {
    for (;;) {
        line next{.to = STDERR_FILENO, .text = {}};
        {
            std::unique_lock lock(mutex_);
            is_writing_ = false;
            changed_.notify_all();
            changed_.wait(lock, [&] { return !lines_.empty(); });
            is_writing_ = true;
            if (const auto n = std::exchange(dropped_, 0)) {
                next.text = "weft: prefork: " + std::to_string(n) + " lines were dropped, since they were not read in time\n";
            } else {
                next = std::move(lines_.front());
                lines_.pop_front();
                bytes_ -= next.text.size();
            }
        }
        blocking([&](const std::stop_token& stop) { write_line(next.to, next.text, stop); });
    }
}

bool line_writer::is_idle() {
    const std::lock_guard lock(mutex_);
    return lines_.empty() && !is_writing_;
}

void line_writer::finish(std::chrono::nanoseconds time) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, time, [&] { return lines_.empty() && !is_writing_; });
}

}  // namespace weft::prefork
