// batched_log.hpp - the hook of access_log(), and how a server collects lines that are written together.
//
// A server adds a line when it has made an answer, and calls write_out() when the answer has left. The
// first fiber that does lets others run, so that their lines are written with its own, in one call of the
// system.
//
// Invariants
//   BATCHED_LOG-1  A line that was added is written by the fiber that added it, or by another fiber that
//                  writes. If a write fails, the lines that the fiber had taken are lost. If a fiber is
//                  stopped while it writes, a line that it has begun stays cut, and the next fiber that
//                  writes takes the others; the server calls write_last() at its end.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <weft/detail/clock.hpp>
#include <weft/http/log.hpp>

namespace weft::detail {

class log_writer;

class batched_log {
public:
    batched_log(int descriptor, std::function<std::string(const http::access&)> line);

    /// Whether its lines say how long an answer has taken; false: access::duration may be zero.
    bool shows_duration() const noexcept;

    /// Writes one line at once, for programs that call the hook by themselves.
    ///
    /// \parks  while a pipe or a terminal is full.
    void operator()(const http::access&) const;

    /// Adds a line. If 64 KiB or more then wait to be written, writes them.
    ///
    /// \parks  while it writes, as write_out() does.
    void add(const http::access&) const;
    /// Writes the lines that were added, unless another fiber is about to.
    ///
    /// \parks  first, so that other fibers can add lines; then while a pipe or a terminal is full.
    void write_out() const;
    /// Writes all lines that were added, also those of other servers.
    ///
    /// \parks   while a pipe or a terminal is full, and while another fiber writes; until then.
    /// \throws  std::system_error timed_out.
    void write_last(time_point until) const;

private:
    std::shared_ptr<log_writer> to_;
};

}  // namespace weft::detail
