// records.hpp - a file of what a node has done, which is on the disk when add() returns. The judge reads it.
//
// A line is the seconds since the machine was booted, a word that says what has happened, and what it concerns.
// The last line of a process that was killed may be a part of one.
#pragma once

#include <chrono>
#include <cstdio>
#include <ctime>
#include <string>

#include <weft/io/file.hpp>

namespace chaos {

class records {
public:
    explicit records(const std::string& path)
        : file_(weft::io::file::open(path, weft::io::file::write | weft::io::file::create | weft::io::file::append)) {}

    /// \parks until the line is on the disk
    void add(const std::string& line) {
        file_.write_at(now() + ' ' + line + '\n', 0);  // at its end, since it was opened to append
        file_.sync(weft::io::sync_mode::data);
    }

    static std::string now() {
        timespec t{};
        ::clock_gettime(CLOCK_BOOTTIME, &t);
        char text[32];
        std::snprintf(text, sizeof text, "%lld.%03ld", static_cast<long long>(t.tv_sec), t.tv_nsec / 1'000'000);
        return text;
    }

private:
    weft::io::file file_;
};

/// The text of an error as the last part of a line.
inline std::string on_one_line(std::string text) {
    for (char& c : text)
        if (c == '\n') c = ' ';
    return text;
}

}  // namespace chaos
