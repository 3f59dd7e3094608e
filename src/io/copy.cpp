// copy.cpp - splice(2) between two descriptors, and the idle watch of a relay.
#include <weft/io/copy.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include <weft/deadline.hpp>
#include <weft/fiber.hpp>

#include "base/atomic.hpp"
#include "base/direct.hpp"
#include "base/duration_text.hpp"
#include "io/operation.hpp"
#include "io/refused_here.hpp"
#include "io/without_pipe_signal.hpp"

namespace weft::detail {

namespace {

/// A system pipe that is not registered with an engine. It is emptied before it is filled again, so
/// no fiber has to wait for it.
class passage {
public:
    passage() noexcept {
        if (refused_here() || ::pipe2(ends_.data(), O_CLOEXEC | O_NONBLOCK) != 0) ends_ = {-1, -1};
    }
    ~passage() {
        for (const int fd : ends_)
            if (fd >= 0) direct::close(fd);
    }
    passage(const passage&) = delete;
    passage& operator=(const passage&) = delete;

    explicit operator bool() const noexcept { return ends_[0] >= 0; }

    /// Moves at least one byte into the pipe; 0 at the end of `from`.
    io_result fill(io_source* from) const noexcept {
        return perform(from, io_direction::read, read_wait,
                       [this](int fd) { return direct::splice(fd, ends_[1], copy_piece, SPLICE_F_MOVE | SPLICE_F_NONBLOCK); });
    }
    io_result drain(io_source* to, std::size_t most) const noexcept {
        return perform(to, io_direction::write, write_wait, [this, most](int fd) {
            return without_pipe_signal(most,
                                       [&] { return direct::splice(ends_[0], fd, most, SPLICE_F_MOVE | SPLICE_F_NONBLOCK); });
        });
    }

private:
    std::array<int, 2> ends_{-1, -1};
};

/// The system cannot splice at all, or not with such descriptors.
bool is_no_splice(std::error_code e) noexcept {
    return e == std::errc::invalid_argument || e == std::errc::function_not_supported ||
           e == std::errc::operation_not_permitted || e == std::errc::permission_denied;
}

}  // namespace

splice_result splice_all(io_source* from, io_source* to, std::uint64_t& count, idle_watch* watch,
                         std::error_code& error) noexcept {
    const passage through;
    if (!through) return splice_result::not_here;
    for (bool is_first = true;; is_first = false) {
        const auto got = through.fill(from);
        if (is_first && is_no_splice(got.error)) return splice_result::not_here;
        if ((error = got.error)) return splice_result::failed;
        if (got.count == 0) return splice_result::ended;
        for (std::size_t left = got.count; left != 0;) {
            const auto put = through.drain(to, left);
            if ((error = put.error)) return splice_result::failed;
            left -= put.count;
            count += put.count;
            if (watch) watch->touch();
        }
    }
}

void throw_copy_error(std::error_code error) { throw_io_error(error, "weft: copy"); }

struct idle_watch::state {
    const std::chrono::nanoseconds limit;
    atomic<std::uint64_t> touches{0};
};

idle_watch::idle_watch(std::chrono::nanoseconds limit) : state_(std::make_unique<state>(limit)) {}
idle_watch::~idle_watch() = default;

// The count is only compared with an earlier value of itself.
void idle_watch::touch() noexcept { state_->touches.fetch_add(1, relaxed); }

void idle_watch::wait() {
    const auto limit = state_->limit;
    auto seen = state_->touches.load(relaxed);
    for (auto since = clock::now(); clock::now() - since < limit;) {
        this_fiber::sleep_for(std::max<duration>(limit / 4, std::chrono::milliseconds(1)));
        const auto now = state_->touches.load(relaxed);
        if (now != seen) since = clock::now();
        seen = now;
    }
    throw timeout_error("weft: relay: nothing has passed for " + duration_text(limit));
}

}  // namespace weft::detail
