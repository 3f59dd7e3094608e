// server_process.hpp - the server under the soak: its process, what it prints, and how it is seen from outside.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "soak/service/findings.hpp"
#include "soak/service/trouble.hpp"

namespace soak {

/// What the system says of a process.
struct footprint {
    double resident_mib = 0;
    unsigned descriptors = 0;
    unsigned threads = 0;
};

/// How many lines of which kind the server has printed (support/expected_line.hpp); failures while the trouble of Redis lasts.
struct expected_lines {
    std::atomic<std::uint64_t> hogs{0}, locks{0}, slow{0}, accepts{0}, unread{0}, failures{0};
};

class server_process {
public:
    /// \throws  std::runtime_error if it does not start.
    server_process(const plan&, const std::string& redis_url, const std::string& sqlite_file, const trouble&, findings&);
    ~server_process();
    server_process(const server_process&) = delete;
    server_process& operator=(const server_process&) = delete;

    std::uint16_t redis_port() const noexcept { return ports_[0]; }
    std::uint16_t sqlite_port() const noexcept { return ports_[1]; }
    std::uint16_t control_port() const noexcept { return ports_[2]; }

    footprint look() const;
    const expected_lines& lines() const noexcept { return lines_; }

    /// SIGTERM. Not on a fiber: waits. \returns how it ended, if not by 0 within the patience.
    std::optional<std::string> end(milliseconds patience);

private:
    void start(const std::vector<std::string>& words);
    void read_ports(int from);
    void read_lines(int from);
    void judge(const std::string& line);

    const trouble& trouble_;
    findings& found_;
    expected_lines lines_;
    std::uint16_t ports_[3] = {};
    pid_t child_ = -1;
    std::thread reader_;
};

}  // namespace soak
