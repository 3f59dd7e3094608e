// client.hpp - the load: on each connection a message goes to the server and comes back, again and
// again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "system.hpp"

namespace bench::uring {

class client {
public:
    /// The connections are non-blocking; the messages are of `bytes` bytes.
    client(std::vector<descriptor> servers, std::size_t bytes);

    /// Sends the first message of each connection.
    void begin();
    /// Round trips until then, one connection beside the others. \returns  how many there were.
    std::uint64_t run_until(std::chrono::steady_clock::time_point);
    /// Waits for the answers that are still under way.
    void finish();

private:
    void take_events();
    void on_readable(std::size_t server);
    void send_to(std::size_t server);

    std::vector<descriptor> servers_;
    std::vector<std::size_t> missing_;  ///< bytes of the answer under way, by server
    std::vector<std::byte> message_, answer_;
    descriptor epoll_;
    std::size_t under_way_ = 0;
    std::uint64_t trips_ = 0;
    bool goes_on_ = true;
};

}  // namespace bench::uring
