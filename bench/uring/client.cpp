// client.cpp - one thread with an edge-triggered epoll, the same whatever the server is.
#include "client.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <stdexcept>

namespace bench::uring {

client::client(std::vector<descriptor> servers, std::size_t bytes)
    : servers_(std::move(servers)),
      missing_(servers_.size()),
      message_(bytes, std::byte{'x'}),
      answer_(bytes),
      epoll_(checked(::epoll_create1(EPOLL_CLOEXEC), "epoll_create1")) {
    for (std::uint64_t i = 0; i < servers_.size(); ++i) {
        epoll_event wanted{.events = EPOLLIN | EPOLLET, .data = {.u64 = i}};
        checked(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, servers_[i].get(), &wanted), "epoll_ctl");
    }
}

void client::begin() {
    for (std::size_t i = 0; i < servers_.size(); ++i) send_to(i);
}

std::uint64_t client::run_until(std::chrono::steady_clock::time_point end) {
    const auto before = trips_;
    while (std::chrono::steady_clock::now() < end) take_events();
    return trips_ - before;
}

void client::finish() {
    goes_on_ = false;
    while (under_way_ > 0) take_events();
}

void client::take_events() {
    std::array<epoll_event, 256> events;
    const int n = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), -1);
    if (n < 0 && errno == EINTR) return;
    for (int i = 0; i < checked(n, "epoll_wait"); ++i) on_readable(events[static_cast<std::size_t>(i)].data.u64);
}

void client::on_readable(std::size_t server) {
    while (missing_[server] > 0) {
        const auto n = ::recv(servers_[server].get(), answer_.data(), missing_[server], 0);
        if (n < 0 && errno == EAGAIN) return;
        if (checked(n, "recv") == 0) throw std::runtime_error("the server has hung up");
        missing_[server] -= static_cast<std::size_t>(n);
    }
    --under_way_;
    ++trips_;
    if (goes_on_) send_to(server);
}

void client::send_to(std::size_t server) {
    const auto sent = checked(::send(servers_[server].get(), message_.data(), message_.size(), MSG_NOSIGNAL), "send");
    if (static_cast<std::size_t>(sent) != message_.size()) throw std::runtime_error("send took a part of a short message");
    missing_[server] = message_.size();
    ++under_way_;
}

}  // namespace bench::uring
