// batched_log.hpp - the hook of access_log(), and how a server collects lines that are written together.
//
// A server adds a line when it has made an answer, and calls write_out() when the answer has left. The
// first fiber that does lets others run, so that their lines are written with its own, in one call of the
// system.
//
// Invariants
//   BATCHED_LOG-1  A line that was added is written by the fiber that has added it or by one that writes at
//                 that time, or the write has failed. A fiber that is stopped while it writes leaves the
//                 lines that it has not begun to the next one, and the server calls write_out() at its end.
#pragma once

#include <functional>
#include <memory>
#include <string>

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

    /// \parks  if very much has been added that nobody has written yet.
    void add(const http::access&) const;
    /// Writes what was added, unless another fiber does.
    ///
    /// \parks  lets others run first; while a pipe or a terminal is full.
    void write_out() const;

private:
    std::shared_ptr<log_writer> to_;
};

}  // namespace weft::detail
