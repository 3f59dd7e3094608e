// survey.hpp - looks at the server: each five seconds for the table, at quiet points for the verdict.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include <weft/mutex.hpp>

#include "soak/service/http_line.hpp"
#include "soak/service/server_process.hpp"
#include "soak/support/flatness.hpp"

namespace soak {

/// What the server says of itself.
struct inside {
    unsigned fibers = 0;
    unsigned carriers = 0;
    unsigned connections = 0;  ///< with and without a fiber
    unsigned asleep = 0;  ///< those without
    std::uint64_t hand_offs = 0;
};

class survey {
public:
    survey(const plan&, const server_process&, findings&);

    /// One line of the table. \parks
    void print_line();
    /// The load has been taken away: waits until the server has noticed, and has settled; then takes the figures. \parks
    void take_quiet_point();
    void let_hogs_compute(bool);

    const std::vector<series>& taken() const noexcept { return taken_; }
    std::size_t points() const noexcept { return taken_.front().points.size(); }
    double seconds() const { return std::chrono::duration<double>(clock::now() - begin_).count(); }

private:
    inside ask();
    std::string call(const std::string& method, const std::string& path);
    void await_no_connections();

    const plan& plan_;
    const server_process& server_;
    findings& found_;
    const clock::time_point begin_ = clock::now();
    weft::mutex mutex_;
    http_line line_;
    std::vector<series> taken_;
};

}  // namespace soak
