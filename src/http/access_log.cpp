// access_log.cpp - writes the lines of an access log to a descriptor, each whole.
#include <weft/http/log.hpp>

#include <weft/deadline.hpp>
#include <weft/io/descriptor.hpp>
#include <weft/mutex.hpp>
#include <weft/stop.hpp>

#include <unistd.h>

#include <cerrno>
#include <climits>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "base/direct.hpp"
#include "http/batched_log.hpp"
#include "http/log_lines.hpp"
#include "io/operation.hpp"

namespace weft::detail {
namespace {

// chosen: some 500 lines; who adds one to that much writes first
constexpr std::size_t most_kept = 64 * 1024;

/// The function that appends what `line` returns; null: `line` is one of the program's own.
line_appender appender_of(const std::function<std::string(const http::access&)>& line) noexcept {
    const auto* const known = line.target<std::string (*)(const http::access&)>();
    if (!known) return nullptr;
    if (*known == http::common_log_line) return append_common_line;
    if (*known == http::combined_log_line) return append_combined_line;
    return *known == http::json_log_line ? append_json_line : nullptr;
}

}  // namespace

class log_writer {
public:
    log_writer(int descriptor, std::function<std::string(const http::access&)> line)
        : descriptor_(descriptor), line_(std::move(line)), append_(appender_of(line_)) {
        std::error_code error;
        waiting_ = io::descriptor::borrow(descriptor, error);
        // A file cannot be waited for.
        if (error && error != std::errc::invalid_argument) throw std::system_error(error, "weft: http: access_log()");
    }

    bool shows_duration() const noexcept { return append_ != append_common_line && append_ != append_combined_line; }

    void write_one(const http::access& a) {
        std::string line = line_(a);
        line += '\n';
        std::string_view rest = line;
        const std::lock_guard writing(write_lock_);
        write(rest);
    }

    void add(const http::access& a) {
        if (append_line(a)) write_out(false);
    }

    void write_out(bool lets_others_add) {
        {
            const std::lock_guard guard(lock_);
            if (added_.empty() || (is_written_ && lets_others_add)) return;
            is_written_ = true;
        }
        if (lets_others_add) let_others_run();
        const std::lock_guard writing(write_lock_);
        write_lines();
    }

    void write_last(time_point until) {
        const auto late = [] {
            return std::system_error(std::make_error_code(std::errc::timed_out),
                                     "weft: http: the access log takes no more; its last lines are not written");
        };
        const std::unique_lock writing(write_lock_, until);
        if (!writing) throw late();
        const deadline_frame limit(until);
        try {
            write_lines();
        } catch (const cancelled&) {
            if (!has_expired(limit)) throw;
            throw late();
        }
    }

private:
    /// All of them, with write_lock_ held.
    void write_lines() {
        while (take_lines()) {
            std::string_view rest = taken_;
            try {
                write(rest);
            } catch (const std::system_error&) {  // a line by itself is lost then, too
                keep({});
                throw;
            } catch (...) {  // a stop of this fiber; the lines of others are not its own
                const auto begun = is_torn_ ? rest.find('\n') + 1 : 0;
                keep(rest.substr(begun));
                throw;
            }
        }
    }

    /// \returns whether there is too much.
    bool append_line(const http::access& a) {
        const std::lock_guard guard(lock_);
        const auto before = added_.size();
        try {
            if (append_)
                append_(added_, a, second_);
            else
                added_ += line_(a);
            added_ += '\n';
        } catch (...) {
            added_.resize(before);
            throw;
        }
        return added_.size() >= most_kept;
    }

    /// \returns  false: there is nothing, and the next line needs somebody to write it.
    bool take_lines() {
        const std::lock_guard guard(lock_);
        is_written_ = !added_.empty();
        taken_.clear();
        taken_.swap(added_);
        return is_written_;
    }

    /// For the next call of write_out().
    void keep(std::string_view lines) {
        const std::lock_guard guard(lock_);
        is_written_ = false;
        added_.insert(0, lines);
    }

    /// Takes from `rest` what it has written, with write_lock_ held.
    void write(std::string_view& rest) {
        if (is_torn_) is_torn_ = write_some("\n") != 1;
        while (!rest.empty()) {
            const auto n = write_some(rest.substr(0, length_of_write(rest)));
            is_torn_ = rest[n - 1] != '\n';
            rest.remove_prefix(n);
        }
    }

    /// Up to PIPE_BUF bytes a pipe takes whole, so that other processes can write to it, too. A longer
    /// line is a write of its own.
    std::size_t length_of_write(std::string_view lines) const noexcept {
        if (!waiting_.is_open() || lines.size() <= PIPE_BUF) return lines.size();
        auto end = lines.rfind('\n', PIPE_BUF - 1);
        if (end == std::string_view::npos) end = lines.find('\n');
        return end + 1;
    }

    std::size_t write_some(std::string_view text) { return waiting_.is_open() ? waiting_.write_some(text) : write_at_once(text); }

    std::size_t write_at_once(std::string_view text) const {
        long n;
        do n = direct::write(descriptor_, text.data(), text.size());
        while (n == -EINTR);
        // A device that takes nothing and reports nothing will not take more the next time.
        if (n == 0) n = -EIO;
        if (n < 0) throw std::system_error(static_cast<int>(-n), std::generic_category(), "weft: http: writing the access log");
        return static_cast<std::size_t>(n);
    }

    int descriptor_;
    io::descriptor waiting_;
    std::function<std::string(const http::access&)> line_;
    line_appender append_;  // null: line_ makes the lines
    weft::mutex write_lock_;  // held while something is written; taken before lock_
    bool is_torn_ = false;    // the last line that was written has no end
    std::string taken_;       // is being written
    weft::mutex lock_;        // guards what follows
    std::string added_;
    log_second second_;
    bool is_written_ = false;  // a fiber has begun write_out()
};

batched_log::batched_log(int descriptor, std::function<std::string(const http::access&)> line)
    : to_(std::make_shared<log_writer>(descriptor, std::move(line))) {}

void batched_log::operator()(const http::access& a) const { to_->write_one(a); }
bool batched_log::shows_duration() const noexcept { return to_->shows_duration(); }
void batched_log::add(const http::access& a) const { to_->add(a); }
void batched_log::write_out() const { to_->write_out(true); }
void batched_log::write_last(time_point until) const { to_->write_last(until); }

}  // namespace weft::detail

namespace weft::http {

std::function<void(const access&)> access_log(int descriptor, std::function<std::string(const access&)> line) {
    if (!line) throw std::invalid_argument("weft: http: access_log() without a function that makes the line");
    return detail::batched_log(descriptor, std::move(line));
}

}  // namespace weft::http
