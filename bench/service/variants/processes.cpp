#include "processes.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include <weft/io/pipe.hpp>

namespace variants {
namespace {

using weft::net::endpoint;

[[noreturn]] void fail(int error, const std::string& what) { throw std::system_error(error, std::system_category(), what); }

/// Holds a port for the children: bound and shared, but not listening, so that it gets no
/// connections.
class held_port {
public:
    explicit held_port(const endpoint& at) : at_(at) {
        addrinfo wanted{};
        wanted.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
        wanted.ai_socktype = SOCK_STREAM;
        addrinfo* found = nullptr;
        if (::getaddrinfo(at.host.c_str(), std::to_string(at.port).c_str(), &wanted, &found) != 0)
            throw std::invalid_argument("--listen " + to_string(at) + ": several processes need a numeric address");
        const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, ::freeaddrinfo);
        socket_ = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const int on = 1;
        sockaddr_storage local{};
        socklen_t size = sizeof local;
        auto* const address = reinterpret_cast<sockaddr*>(&local);
        if (socket_ < 0 || ::setsockopt(socket_, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) != 0 ||
            ::setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
            ::bind(socket_, found->ai_addr, found->ai_addrlen) != 0 || ::getsockname(socket_, address, &size) != 0) {
            const int error = errno;
            if (socket_ >= 0) ::close(socket_);
            fail(error, "--listen " + to_string(at));
        }
        at_.port = ntohs(local.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&local)->sin6_port
                                                     : reinterpret_cast<sockaddr_in*>(&local)->sin_port);
    }
    ~held_port() { ::close(socket_); }
    held_port(const held_port&) = delete;
    held_port& operator=(const held_port&) = delete;

    const endpoint& at() const noexcept { return at_; }

private:
    endpoint at_;
    int socket_ = -1;
};

/// SIGINT, SIGTERM and SIGCHLD wait until the parent asks for them.
class blocked_signals {
public:
    blocked_signals() {
        ::sigemptyset(&these_);
        for (const int s : {SIGINT, SIGTERM, SIGCHLD}) ::sigaddset(&these_, s);
        ::sigprocmask(SIG_BLOCK, &these_, &before_);
    }
    ~blocked_signals() { restore(); }
    blocked_signals(const blocked_signals&) = delete;
    blocked_signals& operator=(const blocked_signals&) = delete;

    void restore() const { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }
    int wait() const {
        int number = 0;
        ::sigwait(&these_, &number);
        return number;
    }

private:
    sigset_t these_{}, before_{};
};

/// \returns  the exit code.
int be_a_child(const options& o, const endpoint& at, weft::io::pipe& says) {
    try {
        serve(o, {.at = at, .shared = true}, [&](const endpoint&) {
            says.writer.write_all(std::string_view("x"));
            says.writer.close();
        });
        return 0;
    } catch (const std::exception& failure) {
        std::cerr << "users_variants: " << failure.what() << std::endl;
        return 2;
    }
}

class children {
public:
    /// \returns  false in the child.
    bool fork_one() {
        const pid_t parent = ::getpid();
        const pid_t child = ::fork();
        if (child < 0) fail(errno, "fork");
        if (child > 0) {
            alive_.push_back(child);
            return true;
        }
        ::prctl(PR_SET_PDEATHSIG, SIGTERM);  // a parent that is killed leaves no children
        if (::getppid() != parent) ::raise(SIGTERM);
        ::setpgid(0, 0);  // a ^C reaches the parent alone, which passes it on
        return false;
    }

    bool empty() const noexcept { return alive_.empty(); }
    void signal(int number) {
        told_ = true;
        for (const pid_t child : alive_) ::kill(child, number);
    }

    /// Takes the children that have ended. \returns whether all of these ended in order: with exit
    /// code 0, or by a signal that was passed on before they were ready for it.
    bool take_ended() {
        bool in_order = true;
        std::erase_if(alive_, [&](pid_t child) {
            int status = 0;
            if (::waitpid(child, &status, WNOHANG) != child) return false;
            const bool told = told_ && WIFSIGNALED(status) && (WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGTERM);
            in_order = in_order && (told || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
            return true;
        });
        return in_order;
    }

private:
    std::vector<pid_t> alive_;
    bool told_ = false;
};

}  // namespace

int serve_by_processes(const options& o, const endpoint& at, const on_listening& listening) {
    const held_port held(at);
    weft::io::pipe says;
    children all;
    const blocked_signals signals;
    for (unsigned i = 0; i < o.processes; ++i)
        if (!all.fork_one()) {
            signals.restore();
            says.reader.close();
            std::exit(be_a_child(o, held.at(), says));
        }
    says.writer.close();
    std::size_t heard = 0;
    std::array<std::byte, 64> bytes;
    while (const auto n = says.reader.read_some(bytes)) heard += n;  // ends when every child listens, or has ended
    if (heard == o.processes) listening(held.at());
    bool in_order = true;
    while (!all.empty()) {
        const int number = signals.wait();
        if (number != SIGCHLD) {
            all.signal(number);
            continue;
        }
        const bool well = all.take_ended();
        if (in_order && !well) all.signal(SIGTERM);
        in_order = in_order && well;
    }
    return in_order ? 0 : 1;
}

}  // namespace variants
