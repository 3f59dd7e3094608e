// hand_off.cpp - the owner arms and is kept; the calling thread, on the other CPU, sends and looks.
#include "hand_off.hpp"

#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <atomic>
#include <functional>
#include <future>
#include <memory>

namespace bench::uring {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

/// What one thread arms, and another one looks at.
class armed {
public:
    virtual ~armed() = default;
    /// By the thread that looks. \returns  whether something has arrived since the last look.
    virtual bool look() = 0;
    /// By the thread that looks. \returns  0 or the negated errno with which it may not ask for
    /// what has arrived.
    virtual int ask() = 0;
};

class armed_epoll final : public armed {
public:
    explicit armed_epoll(int fd) : epoll_(checked(::epoll_create1(EPOLL_CLOEXEC), "epoll_create1")) {
        epoll_event wanted{.events = EPOLLIN | EPOLLET, .data = {}};
        checked(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &wanted), "epoll_ctl");
    }
    bool look() override {
        epoll_event happened{};
        return ::epoll_wait(epoll_.get(), &happened, 1, 0) > 0;
    }
    int ask() override { return 0; }  // it has looked at nothing else

private:
    const descriptor epoll_;
};

class armed_ring final : public armed {
public:
    armed_ring(ring_mode m, int fd) : ring_(m, {}) {
        ring_.arm_receive(fd, 0);
        ring_.submit();
    }
    bool look() override {
        const auto now = ring_.completed();
        return std::exchange(seen_, now) != now;
    }
    int ask() override { return ring_.ask_for_completions(); }

private:
    ring ring_;
    unsigned seen_ = 0;
};

struct two_ends {
    descriptor near, far;
};
two_ends sockets() {
    int ends[2];
    checked(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), "socketpair");
    return {descriptor(ends[0]), descriptor(ends[1])};
}
two_ends pipe() {
    int ends[2];
    checked(::pipe2(ends, O_CLOEXEC), "pipe2");
    return {descriptor(ends[0]), descriptor(ends[1])};  // near is read
}

/// What keeps a thread, until it is told.
class kept {
public:
    explicit kept(occupation o) : occupation_(o), epoll_(checked(::epoll_create1(EPOLL_CLOEXEC), "epoll_create1")) {
        epoll_event wanted{.events = EPOLLIN, .data = {}};
        checked(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, pipe_.near.get(), &wanted), "epoll_ctl");
    }
    /// By the thread to be kept. \returns  how many of its calls ended by EINTR.
    unsigned run() {
        unsigned cut_short = 0;
        while (!over_.load(std::memory_order_relaxed))
            if (occupation_ != occupation::computes && call() < 0 && errno == EINTR) ++cut_short;
        return cut_short;
    }
    void end() {
        over_ = true;
        checked(::write(pipe_.far.get(), "x", 1), "write");
    }

private:
    long call() {
        char byte;
        epoll_event happened{};
        const timespec limit{.tv_sec = 0, .tv_nsec = 500'000'000};
        switch (occupation_) {
            case occupation::computes: break;
            case occupation::reads_pipe: return ::read(pipe_.near.get(), &byte, 1);
            case occupation::waits_in_epoll: return ::epoll_wait(epoll_.get(), &happened, 1, -1);
            case occupation::sleeps: return ::nanosleep(&limit, nullptr);
        }
        return 0;
    }

    const occupation occupation_;
    const two_ends pipe_ = pipe();
    const descriptor epoll_;
    std::atomic<bool> over_{false};
};

/// \returns  how long it took until the message was seen; nothing if that took too long.
std::optional<double> send_and_look(int to, armed& a) {
    const auto from = steady_clock::now();
    checked(::write(to, "x", 1), "write");
    while (!a.look())
        if (steady_clock::now() - from > patience) return std::nullopt;
    return in_us(steady_clock::now() - from);
}

using arm = std::function<std::unique_ptr<armed>(int fd)>;

hand_off_row observe(std::string way, const arm& by, occupation o, cpu_pair cpus) {
    const auto ends = sockets();
    kept k(o);
    std::promise<std::unique_ptr<armed>> arms;
    auto cut_short = std::async(std::launch::async, [&] {
        try {
            stay_on(cpus.of_server);
            arms.set_value(by(ends.far.get()));
        } catch (...) {
            arms.set_exception(std::current_exception());
            return 0u;
        }
        return k.run();
    });
    const auto a = arms.get_future().get();
    hand_off_row row{.way = std::move(way), .of_owner = o};
    std::this_thread::sleep_for(20ms);  // the owner is in its call by now
    for (unsigned i = 0; i < messages; ++i) {
        if (const auto latency = send_and_look(ends.near.get(), *a)) row.latency_us.push_back(*latency);
        std::this_thread::sleep_for(3ms);  // and again, if it was disturbed
    }
    if (const int error = a->ask(); error < 0) row.refusal = ::strerrorname_np(-error);
    k.end();
    row.cut_short = cut_short.get();
    return row;
}

}  // namespace

const char* name(occupation o) noexcept {
    switch (o) {
        case occupation::computes: return "computes";
        case occupation::reads_pipe: return "read";
        case occupation::waits_in_epoll: return "epoll_wait";
        case occupation::sleeps: break;
    }
    return "nanosleep";
}

std::vector<hand_off_row> hand_offs(std::span<const ring_mode> modes, cpu_pair cpus) {
    stay_on(cpus.of_client);
    std::vector<hand_off_row> rows;
    for (const auto o : occupations)
        rows.push_back(observe(
            "epoll", [](int fd) { return std::make_unique<armed_epoll>(fd); }, o, cpus));
    for (const auto m : modes)
        for (const auto o : occupations)
            rows.push_back(observe(
                name(m), [m](int fd) { return std::make_unique<armed_ring>(m, fd); }, o, cpus));
    return rows;
}

}  // namespace bench::uring
