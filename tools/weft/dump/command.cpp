#include "dump/command.hpp"

#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

#include "runtime/dump/dump_socket.hpp"

namespace dump {
namespace {

constexpr timeval patience{.tv_sec = 60, .tv_usec = 0};  // chosen: a million fibers take half of it

class connection {
public:
    explicit connection(int process) : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        const weft::detail::dump_socket there(process);
        if (fd_ < 0 || ::connect(fd_, there.get(), there.bytes) != 0) refuse(process, std::strerror(errno));
        ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        socklen_t bytes = sizeof who_;
        if (::getsockopt(fd_, SOL_SOCKET, SO_PEERCRED, &who_, &bytes) != 0 || who_.pid != process)
            refuse(process, "process " + std::to_string(who_.pid) + " has taken its place");
    }
    ~connection() { ::close(fd_); }
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;

    void ask(std::string_view line) {
        if (::send(fd_, line.data(), line.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(line.size())) fail();
    }
    std::string answer() {
        std::string all;
        std::array<char, 65536> some;
        for (;;) {
            const auto n = ::recv(fd_, some.data(), some.size(), 0);
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) fail();
            if (n == 0 && all.empty()) hung_up();
            if (n == 0) return all;
            all.append(some.data(), static_cast<std::size_t>(n));
        }
    }

private:
    [[noreturn]] void refuse(int process, const std::string& why) {
        ::close(fd_);
        throw std::runtime_error("dump: process " + std::to_string(process) + " does not serve dumps (" + why +
                                 "); WEFT_INSPECT=1 or runtime_options::inspect lets it");
    }
    // Who is not answered is hung up on at once: the request, or the answer, then meets a closed connection.
    [[noreturn]] void fail() const {
        if (errno == EPIPE || errno == ECONNRESET) hung_up();
        throw std::runtime_error(std::string("dump: ") + std::strerror(errno));
    }
    [[noreturn]] void hung_up() const {
        const auto process = "dump: process " + std::to_string(who_.pid), user = std::to_string(who_.uid);
        if (const auto me = ::geteuid(); me != 0 && me != who_.uid)
            throw std::runtime_error(process + " answers its own user and root, and not user " + std::to_string(me) +
                                     ": run weft dump as user " + user + " or as root");
        throw std::runtime_error(process + " has hung up: it has ended, or now runs as another user than " + user);
    }

    int fd_;
    ucred who_ = {};
};

void print_answer(int process, std::string_view request) {
    connection there(process);
    there.ask(request);
    const auto text = there.answer();
    std::cout << text << std::flush;
}

void add_options(CLI::App& command, dump_options& options) {
    command.add_option("PID", options.process, "a process started with WEFT_INSPECT=1, or with runtime_options::inspect or dump_signal")
        ->required()
        ->check(CLI::Range(1, 1 << 22))
        ->type_name("");
    command.add_flag("--json", options.json, "as one JSON object");
}

}  // namespace

void add_dump(CLI::App& command, dump_options& options) {
    add_options(command, options);
    command.callback([&options] { print_answer(options.process, options.json ? "json\n" : "text\n"); });
}

void add_hooks(CLI::App& command, dump_options& options) {
    add_options(command, options);
    command.callback([&options] { print_answer(options.process, options.json ? "hooks-json\n" : "hooks\n"); });
}

}  // namespace dump
