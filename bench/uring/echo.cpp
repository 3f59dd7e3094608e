// echo.cpp - a server and a client in one process, each thread on a CPU of its own, over
// connections of the loopback device.
#include "echo.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <exception>
#include <future>

#include "client.hpp"

namespace bench::uring {
namespace {

using std::chrono::steady_clock;

struct connections {
    std::vector<descriptor> near, far;
};

void send_at_once(const descriptor& d) {
    constexpr int on = 1;
    checked(::setsockopt(d.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), "setsockopt");
}

/// Non-blocking at both ends.
connections connect(unsigned count) {
    const descriptor listener(checked(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket"));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    checked(::bind(listener.get(), any, size), "bind");
    checked(::getsockname(listener.get(), any, &size), "getsockname");
    checked(::listen(listener.get(), 16), "listen");
    connections all;
    for (unsigned i = 0; i < count; ++i) {
        descriptor near(checked(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket"));
        checked(::connect(near.get(), any, size), "connect");
        descriptor far(checked(::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC), "accept4"));
        checked(::fcntl(near.get(), F_SETFL, O_NONBLOCK), "fcntl");
        send_at_once(near);
        send_at_once(far);
        all.near.push_back(std::move(near));
        all.far.push_back(std::move(far));
    }
    return all;
}

struct echo_figures {
    double cpu_us, per_second, busy;
};

/// The client runs on the calling thread.
echo_figures load(std::thread& server, std::vector<descriptor> servers, std::chrono::nanoseconds window) {
    client c(std::move(servers), message_bytes);
    c.begin();
    c.run_until(steady_clock::now() + window / 10);
    const auto cpu_before = cpu_time_of(server);
    const auto from = steady_clock::now();
    const auto trips = static_cast<double>(std::max<std::uint64_t>(1, c.run_until(from + window)));
    const auto cpu = in_us(cpu_time_of(server) - cpu_before);
    const auto passed = in_us(steady_clock::now() - from);
    c.finish();
    return {.cpu_us = cpu / trips, .per_second = trips * 1e6 / passed, .busy = 100 * cpu / passed};
}

echo_figures measure(const way& w, const echo_options& o) {
    auto ends = connect(o.connections);
    std::packaged_task<void()> serve([&] {
        stay_on(o.cpus.of_server);
        w.serve(std::move(ends.far));
    });
    auto served = serve.get_future();
    std::exception_ptr failure_of_client;
    echo_figures found{};
    std::thread server(std::move(serve));
    try {
        found = load(server, std::move(ends.near), o.window);
    } catch (...) {
        failure_of_client = std::current_exception();
    }
    server.join();  // all its peers have hung up
    served.get();   // its own failure is the reason for the client's
    if (failure_of_client) std::rethrow_exception(failure_of_client);
    return found;
}

std::string with(std::string what, send_by s) {
    return std::move(what) + (s == send_by::call ? ", send(2)" : ", send by the ring");
}

}  // namespace

std::vector<way> ways(std::span<const ring_mode> modes) {
    std::vector<way> all;
    for (const auto s : {send_by::call, send_by::ring})
        all.push_back({with("epoll", s), [s](auto peers) { serve_by_epoll(std::move(peers), s); }});
    for (const auto m : modes)
        for (const auto s : {send_by::call, send_by::ring})
            all.push_back({with(name(m), s), [m, s](auto peers) { serve_by_ring(std::move(peers), m, s); }});
    return all;
}

std::vector<echo_row> compare(const std::vector<way>& all, const echo_options& o) {
    stay_on(o.cpus.of_client);
    std::vector<echo_row> rows;
    for (const auto& w : all) rows.push_back({.name = w.name});
    for (unsigned run = 0; run <= o.runs; ++run) {
        double of_epoll = 0;
        for (std::size_t i = 0; i < all.size(); ++i) {
            const auto f = measure(all[i], o);
            if (i == 0) of_epoll = f.cpu_us;
            if (run == 0) continue;
            rows[i].cpu_us.push_back(f.cpu_us);
            rows[i].to_epoll.push_back(f.cpu_us / of_epoll);
            rows[i].per_second.push_back(f.per_second);
            rows[i].busy.push_back(f.busy);
        }
    }
    return rows;
}

}  // namespace bench::uring
