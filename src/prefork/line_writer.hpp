// line_writer.hpp - what the master and its workers say, on its way to stdout and stderr.
//
// Nobody may read them, so the fibers that have something to say leave it here, and one fiber
// writes it. What does not fit is dropped, the oldest first, and counted.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <string>

#include <weft/condition_variable.hpp>
#include <weft/mutex.hpp>

namespace weft::prefork {

class line_writer {
public:
    /// Takes a line with its line feed for a descriptor. Does not wait for its reader.
    void add(int to, std::string line);
    /// Writes the lines. \parks until the fiber is stopped \throws cancelled
    void write_until_stopped();
    /// Waits until all is written, and no longer than that. \parks \throws cancelled
    void finish(std::chrono::nanoseconds time);
    /// Whether all is written.
    bool is_idle();

private:
    struct line {
        int to;
        std::string text;
    };

    mutex mutex_;
    condition_variable changed_;
    std::deque<line> lines_;
    std::size_t bytes_ = 0;  // of lines_
    std::size_t dropped_ = 0;  // since that was last said
    bool is_writing_ = false;
};

}  // namespace weft::prefork
