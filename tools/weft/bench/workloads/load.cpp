// load.cpp - one request is under way on each connection; client and server share the CPUs, as with wrk on one machine.
#include "load.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <stdexcept>
#include <string_view>
#include <vector>

#include <weft/blocking.hpp>
#include <weft/io/limits.hpp>
#include <weft/net/tcp.hpp>
#include <weft/scope.hpp>

#include "cpu_time.hpp"
#include "session.hpp"
#include "timing.hpp"

namespace bench {
namespace {

constexpr std::uint64_t connections = 100;
constexpr const char* clients_name = "clients";        // of their runtime, and so of its threads

/// What the server used so far: everything but the clients, since its blocking calls run on threads of other names.
std::chrono::nanoseconds server_cpu_time() { return process_cpu_time() - cpu_time_of(clients_name); }

/// One kept connection.
class client {
public:
    client(const weft::net::endpoint& server, const std::string& target)
        : stream_(weft::tcp::stream::connect(server)), request_("GET " + target + " HTTP/1.1\r\nHost: bench\r\n\r\n") {}

    void ask() {
        stream_.write_all(request_);
        const auto all = read_until_head_ends();
        while (received_.size() < all) fill();
        received_.erase(0, all);
    }

private:
    /// \returns  the length of head and body.
    std::size_t read_until_head_ends() {
        std::size_t end;
        while ((end = received_.find("\r\n\r\n")) == received_.npos) fill();
        if (!received_.starts_with("HTTP/1.1 200"))
            throw std::runtime_error("answered by " + received_.substr(0, received_.find('\r')));
        constexpr std::string_view length = "\r\nContent-Length: ";
        const auto at = received_.find(length);
        std::size_t body = 0;
        if (at < end) std::from_chars(received_.data() + at + length.size(), received_.data() + end, body);
        return end + 4 + body;
    }
    void fill() {
        std::array<std::byte, 4096> bytes;
        const auto n = stream_.read_some(bytes);
        if (n == 0) throw std::runtime_error("the server ended the connection");
        received_.append(reinterpret_cast<const char*>(bytes.data()), n);
    }

    weft::tcp::stream stream_;
    std::string request_;
    std::string received_;
};

/// \returns  requests per second, and nanoseconds of the server's CPU for each.
std::vector<double> ask_all(std::vector<client>& clients, std::uint64_t n) {
    const auto before = server_cpu_time();
    const auto each = n / clients.size() + 1;
    const auto requests = static_cast<double>(each * clients.size());
    const double time = nanoseconds([&] {
        weft::with_scope([&](weft::scope& all) {
            for (auto& one : clients)
                all.spawn([&one, each] {
                    for (std::uint64_t i = 0; i < each; ++i) one.ask();
                });
        });
    });
    const auto used = std::chrono::duration<double, std::nano>(server_cpu_time() - before).count();
    return {requests / time * 1e9, used / requests};
}

void measure_open_server(session& s, unsigned workers, const std::string& target, std::uint64_t n, const served& server) {
    weft::run(
        [&] {
            std::vector<client> clients;
            for (std::uint64_t i = 0; i < std::min(connections, n); ++i) clients.emplace_back(server.at, target);
            s.measure({{"fibers/requests", workers, n, "1/s"}, {"fibers/server-cpu", workers, n}},
                      [&] { return ask_all(clients, n); });
        },
        {.workers = workers, .name = clients_name});
}

}  // namespace

void measure_server(session& s, const std::string& target, std::uint64_t n,
                    const std::function<void(const std::function<void(served&)>&)>& open) {
    weft::io::raise_descriptor_limit();
    for (const auto workers : s.workers()) {
        weft::runtime serving({.workers = workers, .name = "served"});
        serving.run([&] {
            open([&](served& server) {
                auto running = weft::spawn([&] { server.serve(); });
                weft::blocking([&] { measure_open_server(s, workers, target, n, server); });
                server.stop();
                running.join();
            });
        });
    }
}

}  // namespace bench
