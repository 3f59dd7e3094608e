// servers.cpp - the two loops. A message is short, and its peer waits for the answer before it
// sends another or hangs up: a send never finds the socket full, and no hang-up hides behind a
// message.
#include "servers.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace bench::uring {
namespace {

void echo(int fd, std::span<const std::byte> bytes) {
    const auto sent = checked(::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL), "send");
    if (static_cast<std::size_t>(sent) != bytes.size()) throw std::runtime_error("send took a part of a short message");
}

/// Sends each answer by a call of its own.
class calls {
public:
    std::span<std::byte> room() noexcept { return buffer_; }
    void send(int fd, std::span<const std::byte> bytes) { echo(fd, bytes); }
    void end_of_turn() noexcept {}

private:
    std::array<std::byte, ring::buffer_bytes> buffer_{};
};

/// Sends the answers of a turn by one call. The sockets have room, so a send is complete when its
/// submission returns: the ring has nothing armed, and any thread may submit.
class batch {
public:
    batch() { ring_.register_for_this_thread(); }
    std::span<std::byte> room() noexcept { return buffers_[used_]; }
    void send(int fd, std::span<const std::byte> bytes) {
        ring_.submit_send(fd, bytes, 0);
        if (++used_ == most) end_of_turn();
    }
    void end_of_turn() {
        if (used_ == 0) return;
        ring_.submit();
        ring_.take_completions([this](const io_uring_cqe& done) {
            if (done.res < 0) throw std::system_error(-done.res, std::generic_category(), "a send by the ring");
            --used_;
        });
        if (used_ != 0) throw std::runtime_error("a send by the ring was not complete at once");
    }

private:
    static constexpr unsigned most = 256;
    unsigned used_ = 0;
    std::vector<std::array<std::byte, ring::buffer_bytes>> buffers_{most};
    ring ring_{ring_mode::default_flags, {.submissions = most, .completions = 2 * most}};
};

/// Answers what there is to read. \returns  whether the peer is still there.
template <class Sends>
bool answer_all(int fd, Sends& by) {
    for (;;) {
        const auto into = by.room();
        const auto n = ::recv(fd, into.data(), into.size(), 0);
        if (n == 0) return false;
        if (n < 0 && errno == EAGAIN) return true;
        by.send(fd, into.first(static_cast<std::size_t>(checked(n, "recv"))));
        // There is nothing left behind a short read, and the next message is another edge.
        if (static_cast<std::size_t>(n) < into.size()) return true;
    }
}

template <class Sends>
void serve(std::vector<descriptor> peers, Sends&& by) {
    const descriptor epoll(checked(::epoll_create1(EPOLL_CLOEXEC), "epoll_create1"));
    for (std::uint64_t i = 0; i < peers.size(); ++i) {
        epoll_event wanted{.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data = {.u64 = i}};
        checked(::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, peers[i].get(), &wanted), "epoll_ctl");
    }
    std::array<epoll_event, 256> events;  // as many as weft's engine takes at once
    for (auto left = peers.size(); left > 0;) {
        const int n = ::epoll_wait(epoll.get(), events.data(), static_cast<int>(events.size()), -1);
        if (n < 0 && errno == EINTR) continue;
        for (int i = 0; i < checked(n, "epoll_wait"); ++i) {
            auto& peer = peers[events[static_cast<std::size_t>(i)].data.u64];
            if (answer_all(peer.get(), by)) continue;
            peer.close();
            --left;
        }
        by.end_of_turn();
    }
}

/// A server over one ring. The user data of a receive is the index of its peer; that of a send has
/// the buffer, too.
class ring_server {
public:
    ring_server(std::vector<descriptor> peers, ring_mode m, send_by way)
        : peers_(std::move(peers)), left_(peers_.size()), way_(way), ring_(m, sizes_for(left_)) {
        ring_.register_for_this_thread();
    }

    void run() {
        for (std::size_t i = 0; i < peers_.size(); ++i) arm(i);
        while (left_ > 0) {
            ring_.submit_and_wait();
            ring_.take_completions([this](const io_uring_cqe& done) { on_completion(done); });
        }
    }

private:
    static constexpr std::uint64_t is_send = std::uint64_t{1} << 63;

    /// Room for a receive and a send of each peer.
    static ring_sizes sizes_for(std::size_t peers) {
        const auto power = std::bit_ceil(static_cast<unsigned>(peers));
        return {.submissions = std::clamp(power, 64u, 1024u), .completions = 4 * power, .buffers = 2 * power};
    }

    void arm(std::uint64_t peer) { ring_.arm_receive(peers_[peer].get(), peer); }

    void on_completion(const io_uring_cqe& done) {
        if (done.user_data & is_send) return on_sent(done);
        const auto peer = done.user_data;
        if (done.res == 0) return hung_up(peer);
        if (done.res > 0) answer(peer, ring_.bytes_of(done));
        if (done.res < 0 && done.res != -ENOBUFS)
            throw std::system_error(-done.res, std::generic_category(), "a multishot receive");
        if (!(done.flags & IORING_CQE_F_MORE)) arm(peer);
    }
    void answer(std::uint64_t peer, const received& message) {
        const int fd = peers_[peer].get();
        if (way_ == send_by::ring) return ring_.submit_send(fd, message.bytes, is_send | message.buffer);
        echo(fd, message.bytes);
        ring_.give_back(message.buffer);
    }
    void on_sent(const io_uring_cqe& done) {
        if (done.res < 0) throw std::system_error(-done.res, std::generic_category(), "a send by the ring");
        ring_.give_back(static_cast<std::uint16_t>(done.user_data & 0xffff));
    }
    void hung_up(std::uint64_t peer) {
        peers_[peer].close();
        --left_;
    }

    std::vector<descriptor> peers_;
    std::size_t left_;
    const send_by way_;
    ring ring_;
};

}  // namespace

void serve_by_epoll(std::vector<descriptor> peers, send_by way) {
    way == send_by::call ? serve(std::move(peers), calls()) : serve(std::move(peers), batch());
}

void serve_by_ring(std::vector<descriptor> peers, ring_mode m, send_by way) { ring_server(std::move(peers), m, way).run(); }

}  // namespace bench::uring
