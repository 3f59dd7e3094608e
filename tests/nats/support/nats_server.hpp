// nats_server.hpp - a real nats-server for one test: a child process on a free port of the loopback.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "redis/support/redis_server.hpp"  // free_port()

namespace weft::test {

/// Runs with `config` as its file of configuration; DIR in it stands for the folder of the server.
class nats_server {
public:
    explicit nats_server(const std::string& config = {}, const char* program = WEFT_NATS_SERVER)
        : program_(program), port_(free_port()) {
        std::string name = std::string(P_tmpdir) + "/weft-nats-XXXXXX";
        if (!::mkdtemp(name.data())) throw std::runtime_error("no temporary folder");
        folder_ = name;
        auto text = config;
        for (std::size_t at; (at = text.find("DIR")) != std::string::npos;) text.replace(at, 3, folder_);
        std::ofstream(folder_ + "/config") << "listen: \"127.0.0.1:" << port_ << "\"\n" << text << '\n';
    }
    ~nats_server() {
        kill();
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }
    nats_server(const nats_server&) = delete;
    nats_server& operator=(const nats_server&) = delete;

    std::uint16_t port() const noexcept { return port_; }
    const std::string& folder() const noexcept { return folder_; }
    std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
    std::string url() const { return "nats://" + address(); }

    nats_server& start() {
        child_ = start_child({program_, "-c", folder_ + "/config", "-l", folder_ + "/log"});
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (!listens(port_)) {
            if (::waitpid(child_, nullptr, WNOHANG) == child_) {
                child_ = -1;
                throw std::runtime_error("nats-server has ended at once");
            }
            if (std::chrono::steady_clock::now() > until) throw std::runtime_error("nats-server does not listen");
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
        return *this;
    }
    void kill() { end_with(SIGKILL); }
    void signal(int which) const { ::kill(child_, which); }

private:
    void end_with(int which) {
        if (child_ <= 0) return;
        ::kill(child_, which);
        ::waitpid(child_, nullptr, 0);
        child_ = -1;
    }

    std::string program_;
    std::uint16_t port_;
    std::string folder_;
    pid_t child_ = -1;
};

}  // namespace weft::test
