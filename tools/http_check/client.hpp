// client.hpp - one connection to the service: sends requests in batches and takes the replies apart.
#pragma once

#include <string>
#include <string_view>

#include <weft/net/tcp.hpp>

namespace http_check {

struct reply {
    int status = 0;
    std::string_view body;                 // until the next reply is read
    bool is_last = false;                  // on this connection, says the server
};

class client {
public:
    explicit client(const weft::net::endpoint& server) : stream_(weft::tcp::stream::connect(server)) {}

    /// \parks \throws std::system_error
    void send(std::string_view requests) { stream_.write_all(requests); }

    /// \parks \throws std::system_error, std::runtime_error if the server ends the connection or sends no HTTP.
    reply receive();

private:
    void fill();

    weft::tcp::stream stream_;
    std::string received_;
    std::size_t used_ = 0;
};

}  // namespace http_check
