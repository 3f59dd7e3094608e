// in_memory.hpp - a server whose connections are fibers of a test, for weft::explore().
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <weft/http/client.hpp>
#include <weft/net/simulated_network.hpp>
#include <weft/weft.hpp>

namespace weft::test {

inline void require(bool holds, const char* what) {
    if (!holds) throw std::logic_error(what);
}

/// Serves each connection by a function, in a network without time but that of the runtime.
class server_in_memory {
public:
    explicit server_in_memory(std::function<void(io::byte_stream&)> serve)
        : serve_(std::move(serve)), accepting_(spawn([this] {
              for (;;) serving_.push_back(spawn([this](io::byte_stream s) { serve_(s); }, io::byte_stream(listener_.accept())));
          })) {}
    ~server_in_memory() {
        accepting_.request_stop();
        for (auto& f : serving_) f.request_stop();
    }

    http::client_options options(std::chrono::nanoseconds silence) {
        return {.silence_timeout = silence,
                .connect = [this](const net::endpoint& to) -> io::byte_stream { return net_.connect("client", to); }};
    }

private:
    net::simulated_network net_;
    net::simulated_listener listener_ = net_.listen({.host = "server", .port = 80});
    const std::function<void(io::byte_stream&)> serve_;
    std::vector<fiber<>> serving_;
    fiber<> accepting_;
};

/// Reads up to and including `end`, or until the client leaves, `piece` bytes at most at a time, with a
/// pause before each.
inline void take(io::byte_stream& from, std::string_view end, std::size_t piece, std::chrono::nanoseconds pause) {
    std::vector<std::byte> room(piece);
    std::string last;
    std::error_code error;
    while (!last.ends_with(end)) {
        this_fiber::sleep_for(pause);
        const auto n = from.read_some(room, error);
        if (n == 0) return;
        last.append(reinterpret_cast<const char*>(room.data()), n);
        if (last.size() > 1000) last.erase(0, last.size() - 1000);
    }
}

}  // namespace weft::test
