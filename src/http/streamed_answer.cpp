#include "http/streamed_answer.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <stdexcept>
#include <system_error>

#include "base/direct.hpp"
#include "fiber/interrupts.hpp"
#include "http/connection.hpp"
#include "io/operation.hpp"

namespace weft::detail {
namespace {

constexpr std::string_view crlf = "\r\n";
constexpr const char* writing_a_body = "weft: http: write a body";

}  // namespace

void check_file(int descriptor, std::uint64_t offset, std::uint64_t bytes) {
    struct stat s {};
    if (::fstat(descriptor, &s) != 0) throw std::system_error(errno, std::generic_category(), "weft: http: write_file()");
    if (!S_ISREG(s.st_mode)) throw std::invalid_argument("weft: http: write_file() of what is no regular file");
    const auto size = static_cast<std::uint64_t>(s.st_size);
    if (offset > size || bytes > size - offset)
        throw std::system_error(std::make_error_code(std::errc::io_error),
                                "weft: http: write_file(): the file has " + std::to_string(size) + " bytes");
    if ((direct::fcntl(descriptor, F_GETFL) & O_ACCMODE) == O_WRONLY)
        throw std::system_error(EBADF, std::generic_category(),
                                "weft: http: write_file(): the descriptor is not open for reading");
}

/// What was begun and has failed cannot be gone on with.
class streamed_answer::step {
public:
    explicit step(streamed_answer& of) : of_(of) {
        if (of.failed_) of.fail();
        // Nothing has been changed yet: the function may go on after this.
        if (const auto interrupt = pending_interrupt()) throw_io_error(interrupt_error(*interrupt), writing_a_body);
    }
    step(const step&) = delete;
    step& operator=(const step&) = delete;
    ~step() {
        if (!is_done_ && !of_.failed_) of_.failed_ = sent::interrupted;
    }
    void done() noexcept { is_done_ = true; }

private:
    streamed_answer& of_;
    bool is_done_ = false;
};

streamed_answer::streamed_answer(http_connection& on, exchange& x, const http::response& r, framing f) noexcept
    : on_(on),
      x_(x),
      framed_(r.stream_length       ? framed::length
              : f.minor_version > 0 ? framed::chunks
                                    : framed::to_end),
      length_(r.stream_length.value_or(0)),
      pace_(on.sender_.windows()),
      sent_before_(on.sender_.sent_in_all()),
      before_body_(x.out.size()) {
    pace_.pause();
}

void streamed_answer::write(std::string_view piece) {
    if (piece.empty()) return;
    check_length(piece.size());
    step s(*this);
    if (pending_.size() + piece.size() < collected_bytes) {
        pending_.append(piece);
    } else {
        begin_chunk(pending_.size() + piece.size());
        x_.out.append(pending_);
        pending_.clear();
        send(piece);
        end_chunk();
    }
    written_ += piece.size();
    s.done();
}

void streamed_answer::write_file(int descriptor, std::uint64_t offset, std::uint64_t bytes) {
    if (bytes == 0) return;
    check_length(bytes);
    check_file(descriptor, offset, bytes);
    step s(*this);
    begin_chunk(pending_.size() + bytes);
    x_.out.append(pending_);
    pending_.clear();
    send({});
    pace_.resume();
    const auto how = on_.sender_.send_file(descriptor, offset, bytes, pace_);
    pace_.pause();
    check(how);
    end_chunk();
    written_ += bytes;
    s.done();
}

void streamed_answer::flush() {
    step s(*this);
    take_pending();
    if (!x_.out.empty()) send({});
    s.done();
}

std::uint64_t streamed_answer::taken() const noexcept { return on_.sender_.taken_of(on_.sender_.sent_in_all() - sent_before_); }

std::uint64_t streamed_answer::sent_of_body() const noexcept {
    const auto sent = on_.sender_.sent_in_all() - sent_before_;
    return sent - std::min<std::uint64_t>(sent, before_body_ + framing_);
}

std::uint64_t streamed_answer::total() const noexcept {
    return on_.sender_.sent_in_all() - sent_before_ + x_.out.size() + pending_.size();
}

bool streamed_answer::stopping() const noexcept { return on_.service_.stopping(); }

void streamed_answer::end() {
    if (failed_) fail();
    if (framed_ == framed::length && written_ < length_)
        throw std::length_error("weft: http: the body has " + std::to_string(written_) + " bytes, and " +
                                std::to_string(length_) + " were announced");
    take_pending();
    if (framed_ == framed::chunks) x_.out.append("0\r\n\r\n");
    // Here the end of the connection is the end of the body, and must not come before it.
    if (framed_ == framed::to_end) flush();
}

void streamed_answer::check_length(std::uint64_t more) const {
    if (framed_ == framed::length && more > length_ - written_)
        throw std::length_error("weft: http: the body has more than the " + std::to_string(length_) +
                                " bytes that were announced");
}

/// Moves what was collected to x.out.
void streamed_answer::take_pending() {
    if (pending_.empty()) return;
    begin_chunk(pending_.size());
    x_.out.append(pending_);
    pending_.clear();
    end_chunk();
}

void streamed_answer::begin_chunk(std::uint64_t bytes) {
    if (framed_ != framed::chunks) return;
    std::array<char, 16> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), bytes, 16).ptr;
    x_.out.append(digits.data(), end).append(crlf);
    framing_ += static_cast<std::size_t>(end - digits.data()) + crlf.size();
}

void streamed_answer::end_chunk() {
    if (framed_ != framed::chunks) return;
    x_.out.append(crlf);
    framing_ += crlf.size();
}

/// Sends x.out, and then `last`.
void streamed_answer::send(std::string_view last) {
    has_begun_ = true;
    pace_.resume();
    const auto how = on_.sender_.send(x_.out, last, pace_);
    pace_.pause();
    x_.out.clear();
    check(how);
}

void streamed_answer::check(sent how) {
    if (how == sent::whole) return;
    failed_ = how;
    fail();
}

void streamed_answer::fail() const {
    if (*failed_ == sent::too_slow)
        throw std::system_error(std::make_error_code(std::errc::timed_out),
                                "weft: http: the client takes less than min_rate of the answer");
    if (*failed_ == sent::file_failed)
        throw std::system_error(on_.sender_.failure(), "weft: http: the file cannot be read, or is shorter");
    const auto why = on_.sender_.failure();
    throw_io_error(why ? why : std::make_error_code(std::errc::operation_canceled), writing_a_body);
}

}  // namespace weft::detail
