// redis_server.hpp - a real redis-server for one test: a child process on a free port, without persistence.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/lasting_children.hpp"

namespace weft::test {

/// Whether a loopback port is free at this moment.
inline bool is_free(std::uint16_t port) {
    const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at.sin_port = htons(port);
    const bool bound = ::bind(probe, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0;
    ::close(probe);
    return bound;
}

/// Whether a server answers on a loopback port. Unlike is_free() it cannot be in the way of a server that is about to listen.
inline bool listens(std::uint16_t port) {
    const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at.sin_port = htons(port);
    const bool connected = ::connect(probe, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0;
    ::close(probe);
    return connected;
}

/// A loopback port that was free a moment ago, and that the system gives to nobody who connects: so a server may come back to it.
inline std::uint16_t free_port() {
    unsigned lowest_given = 32768;
    std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> lowest_given;
    if (lowest_given < 4096) throw std::runtime_error("no port on loopback that a server may come back to");
    std::random_device random;
    std::uniform_int_distribution<unsigned> any(lowest_given / 2, lowest_given - 1);
    for (int tries = 0; tries < 100; ++tries)
        if (const auto port = static_cast<std::uint16_t>(any(random)); is_free(port)) return port;
    throw std::runtime_error("no free port on loopback");
}

class redis_server {
public:
    /// \throws std::runtime_error if it cannot be started; a missing program is named with its package.
    explicit redis_server(std::vector<std::string> options = {}) : options_(std::move(options)), port_(free_port()) { start(); }
    ~redis_server() { kill(); }
    redis_server(const redis_server&) = delete;
    redis_server& operator=(const redis_server&) = delete;

    std::uint16_t port() const noexcept { return port_; }
    std::string url() const { return "redis://127.0.0.1:" + std::to_string(port_); }

    /// Starts it again, on the same port, empty.
    void start() {
        std::vector<std::string> words{"redis-server", "--port", std::to_string(port_), "--bind",  "127.0.0.1", "--save",   "",
                                       "--appendonly", "no",     "--loglevel",          "warning", "--logfile", "/dev/null"};
        words.insert(words.end(), options_.begin(), options_.end());
        child_ = start_child(std::move(words));
        wait_until_it_listens();
    }

    void kill() { end_with(SIGKILL); }

    /// It stays, but answers nothing.
    void freeze() const { ::kill(child_, SIGSTOP); }
    void thaw() const { ::kill(child_, SIGCONT); }

private:
    void end_with(int signal) {
        if (child_ <= 0) return;
        ::kill(child_, signal);
        ::waitpid(child_, nullptr, 0);
        child_ = -1;
    }

    void wait_until_it_listens() {
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        while (!listens(port_)) {
            int status = 0;
            if (::waitpid(child_, &status, WNOHANG) == child_) {
                child_ = -1;
                if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
                    throw std::runtime_error("redis-server is not in PATH: install the package redis-server");
                throw std::runtime_error("redis-server ended at once");
            }
            if (std::chrono::steady_clock::now() > until) throw std::runtime_error("redis-server does not listen");
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
    }

    std::vector<std::string> options_;
    std::uint16_t port_;
    pid_t child_ = -1;
};

}  // namespace weft::test
