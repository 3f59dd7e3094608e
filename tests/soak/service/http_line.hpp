// http_line.hpp - one connection to a service, with pipelining, and with all the ways of leaving it.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include <weft/net/tcp.hpp>

#include "soak/service/plan.hpp"

namespace soak {

struct reply {
    int status = 0;
    std::string body;
};

/// The server has ended the connection where an answer could have begun.
struct ended : std::runtime_error {
    ended() : std::runtime_error("the connection has ended before an answer") {}
};
/// What came is no answer, or a part of one; or none came for too long.
struct garbled : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class http_line {
public:
    enum class leave { by_end, by_reset };

    /// \throws  std::system_error. \parks
    http_line(std::uint16_t port, milliseconds patience);

    /// \throws  ended if the server has gone. \parks
    void send(std::string_view bytes);
    /// \throws  ended, garbled. \parks
    reply receive();

    /// How long ago the last thing happened that the server knows of.
    milliseconds idle() const { return std::chrono::duration_cast<milliseconds>(clock::now() - busy_until_); }
    void close(leave how);
    weft::tcp::stream& stream() noexcept { return stream_; }

private:
    /// \returns  false at the end.
    bool fill();

    weft::tcp::stream stream_;
    const milliseconds patience_;
    std::string received_;
    clock::time_point busy_until_ = clock::now();
};

}  // namespace soak
