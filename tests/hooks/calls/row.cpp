#include "hooks/calls/row.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include <weft/hooks.hpp>
#include <weft/runtime.hpp>
#include <weft/scope.hpp>

namespace weft::test {
namespace {

/// Whether a thread of this process sleeps in the kernel.
bool sleeps(pid_t thread) {
    std::ifstream stat("/proc/self/task/" + std::to_string(thread) + "/stat");
    std::string line;
    std::getline(stat, line);
    const auto name_end = line.rfind(')');
    return name_end != std::string::npos && name_end + 2 < line.size() && line[name_end + 2] == 'S';
}

std::string printable(std::string_view bytes) {
    constexpr std::size_t most = 60;
    if (bytes.size() <= most) return std::string(bytes);
    return std::to_string(bytes.size()) + " bytes with the hash " + std::to_string(std::hash<std::string_view>()(bytes));
}

struct in_fiber_result {
    std::vector<std::string> lines;
    hook_totals done;
    std::chrono::nanoseconds late{0};
};

in_fiber_result run_in_fiber(runtime_options options, const std::function<void(notes&)>& row) {
    in_fiber_result result;
    options.hooks = true;
    runtime(std::move(options)).run([&] {
        const auto before = totals_of_hooks();
        spawn({.as_thread = true}, [&] {
            notes n(notes::caller::fiber);
            row(n);
            const auto after = totals_of_hooks();
            result.done = {after.parks - before.parks, after.blocks - before.blocks};
            n.join();
            result.lines = n.lines();
            result.late = n.late();
        }).join();
    });
    return result;
}

void expect_waits(in_fiber does, const hook_totals& done) {
    if (does == in_fiber::park) {
        EXPECT_GT(done.parks, 0u) << "nothing has parked";
        EXPECT_EQ(done.blocks, 0u) << "a call may have blocked";
    } else if (does == in_fiber::go_on) {
        EXPECT_EQ(done.parks, 0u) << "a call has parked";
    } else if (does == in_fiber::block) {
        EXPECT_GT(done.blocks, 0u) << "no call was made as it is";
    }
}

}  // namespace

hook_totals totals_of_hooks() {
    hook_totals t;
    for (const auto& s : hooks::report()) {
        t.parks += s.parks;
        t.blocks += s.blocks;
    }
    return t;
}

notes::notes(caller c) : caller_(c), thread_(static_cast<pid_t>(::syscall(SYS_gettid))) {}

void notes::operator()(std::string_view what, long result) {
    const int error = errno;
    lines_.push_back(std::string(what) + " = " + std::to_string(result) +
                     (result < 0 ? std::string(" ") + ::strerrorname_np(error) : ""));
}

void notes::data(std::string_view what, std::string_view bytes) { lines_.push_back(std::string(what) + ": " + printable(bytes)); }

void notes::later(std::function<void()> action) {
    const auto before = totals_of_hooks();
    threads_.emplace_back([this, action = std::move(action), waits = before.parks + before.blocks] {
        await_wait(waits);
        action();
    });
}

void notes::await_wait(std::uint64_t waits_before) const {
    // A thread may sleep for other reasons as well, and then the row has not waited: it is alike all the
    // same.
    const auto end = std::chrono::steady_clock::now() + 20s;  // then the row fails
    for (int seen = 0; seen < 3 && std::chrono::steady_clock::now() < end;) {
        std::this_thread::sleep_for(1ms);
        const auto now = totals_of_hooks();
        const bool waits = caller_ == caller::fiber ? now.parks + now.blocks > waits_before : sleeps(thread_);
        seen = waits ? seen + 1 : 0;
    }
}

void notes::note_time(std::string_view what, std::chrono::nanoseconds least, std::chrono::nanoseconds took) {
    lines_.push_back(std::string(what) + (took >= least ? " has waited" : " was too early"));
    late_ = std::max(late_, took - least);
}

void notes::join() {
    for (auto& t : threads_) t.join();
    threads_.clear();
}

void expect_alike(in_fiber does, const std::function<void(notes&)>& row) {
    constexpr int tries = 5;
    constexpr std::chrono::nanoseconds most_late = 250ms;
    std::vector<std::string> on_thread;
    std::thread([&] {
        notes n(notes::caller::thread);
        row(n);
        n.join();
        on_thread = n.lines();
    }).join();
    for (const bool moves : {false, true}) {
        SCOPED_TRACE(moves ? "in a fiber that moves" : "in a fiber on the only worker");
        in_fiber_result there;
        for (int i = 0; i < tries; ++i) {  // the machine may be busy
            runtime_options options{.workers = moves ? 2u : 1u};
            if (moves) options.migration = migration_policy::torture;
            there = run_in_fiber(std::move(options), row);
            if (there.late < most_late) break;
        }
        EXPECT_EQ(there.lines, on_thread);
        EXPECT_LT(there.late, most_late);
        expect_waits(does, there.done);
    }
}

pair_of_descriptors::pair_of_descriptors(kind k) {
    if (k == kind::pipe) {
        EXPECT_EQ(::pipe2(fds_.data(), O_CLOEXEC), 0);
    } else if (k == kind::tcp) {
        const listener l;
        fds_[0] = connected_to(l);
        fds_[1] = static_cast<int>(::syscall(SYS_accept4, l.fd, nullptr, nullptr, SOCK_CLOEXEC));
    } else {
        const int type = k == kind::unix_stream ? SOCK_STREAM : k == kind::unix_datagram ? SOCK_DGRAM : SOCK_SEQPACKET;
        EXPECT_EQ(::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, fds_.data()), 0);
    }
    EXPECT_GE(fds_[0], 0);
    EXPECT_GE(fds_[1], 0);
}

pair_of_descriptors::~pair_of_descriptors() {
    close(0);
    close(1);
}

void pair_of_descriptors::close(std::size_t i) {
    if (fds_[i] >= 0) ::close(std::exchange(fds_[i], -1));
}

void pair_of_descriptors::fill(std::size_t i) const {
    const std::string bytes(std::size_t{1} << 16, 'x');
    const long flags = ::syscall(SYS_fcntl, fds_[i], F_GETFL);
    ::syscall(SYS_fcntl, fds_[i], F_SETFL, flags | O_NONBLOCK);
    for (std::size_t n = bytes.size(); n > 0;)
        if (::syscall(SYS_write, fds_[i], bytes.data(), n) <= 0) n /= 2;
    ::syscall(SYS_fcntl, fds_[i], F_SETFL, flags);
}

std::string much() {
    std::string s(std::size_t{4} << 20, '\0');
    for (std::size_t i = 0; i < s.size(); ++i) s[i] = static_cast<char>('a' + i * 7 % 26 + i / 65536 % 3);
    return s;
}

std::string drain(int fd, std::size_t most) {
    std::string all, piece(50'000, '\0');
    while (all.size() < most) {
        const long n = ::syscall(SYS_read, fd, piece.data(), std::min(piece.size(), most - all.size()));
        if (n <= 0) break;
        all.append(piece, 0, static_cast<std::size_t>(n));
    }
    return all;
}

listener::listener(int backlog) : fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&a), sizeof a), 0);
    EXPECT_EQ(::listen(fd, backlog), 0);
    socklen_t size = sizeof a;
    EXPECT_EQ(::getsockname(fd, reinterpret_cast<sockaddr*>(&a), &size), 0);
    port = ntohs(a.sin_port);
}

listener::~listener() { ::close(fd); }

int connected_to(const listener& l) {
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    a.sin_port = htons(l.port);
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::syscall(SYS_connect, fd, &a, sizeof a), 0);
    return fd;
}

}  // namespace weft::test
