// load.cpp - one request is under way on each connection; client and server share the CPUs, as with wrk on one machine.
#include "load.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <stdexcept>
#include <string_view>
#include <utility>
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

    /// Adds to `took`, in us.
    void ask(std::vector<double>& took) {
        took.push_back(nanoseconds([this] { ask(); }) / 1e3);
    }

private:
    void ask() {
        stream_.write_all(request_);
        const auto all = read_until_head_ends();
        while (received_.size() < all) fill();
        received_.erase(0, all);
    }
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

/// \returns  requests per second, the median and 99th percentile of their times, and nanoseconds of the server's CPU for each.
std::vector<double> ask_all(std::vector<client>& clients, std::uint64_t n) {
    const auto before = server_cpu_time();
    const auto each = n / clients.size() + 1;
    std::vector<std::vector<double>> took(clients.size());
    const double time = nanoseconds([&] {
        weft::with_scope([&](weft::scope& all) {
            for (std::size_t i = 0; i < clients.size(); ++i)
                all.spawn([&one = clients[i], &its = took[i], each] {
                    its.reserve(each);
                    for (std::uint64_t j = 0; j < each; ++j) one.ask(its);
                });
        });
    });
    const auto used = std::chrono::duration<double, std::nano>(server_cpu_time() - before).count();
    std::vector<double> sorted;
    for (const auto& its : took) sorted.insert(sorted.end(), its.begin(), its.end());
    std::ranges::sort(sorted);
    const auto requests = static_cast<double>(sorted.size());
    return {requests / time * 1e9, sorted[sorted.size() / 2], sorted[sorted.size() * 99 / 100], used / requests};
}

void measure_open_server(session& s, unsigned workers, const load& wanted, const served& server) {
    std::vector<label> labels;
    for (const auto& [what, unit] : {std::pair{"/requests", "1/s"}, {"/p50", "us"}, {"/p99", "us"}, {"/server-cpu", "ns"}})
        labels.push_back({wanted.variant + what, workers, wanted.n, unit});
    if (wanted.beside == company::hogs) labels.pop_back();  // their time would count as the server's
    weft::run(
        [&] {
            std::vector<client> clients;
            for (std::uint64_t i = 0; i < std::min(connections, wanted.n); ++i) clients.emplace_back(server.at, wanted.target);
            s.measure(labels, [&] {
                auto figures = ask_all(clients, wanted.n);
                figures.resize(labels.size());
                return figures;
            });
        },
        in_silence({.workers = workers, .name = clients_name}));
}

}  // namespace

void measure_server(session& s, const load& wanted, const std::function<void(const std::function<void(served&)>&)>& open) {
    weft::io::raise_descriptor_limit();
    for (const auto workers : s.workers()) {
        weft::runtime serving(in_silence({.workers = workers, .name = "served"}));
        serving.run([&] {
            open([&](served& server) {
                auto running = weft::spawn([&] { server.serve(); });
                weft::blocking([&] { measure_open_server(s, workers, wanted, server); });
                server.stop();
                running.join();
            });
        });
    }
}

}  // namespace bench
