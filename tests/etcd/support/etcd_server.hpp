// etcd_server.hpp - real etcd servers for one test: child processes on free ports, with data in a folder.
#pragma once

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "redis/support/redis_server.hpp"  // free_port()

namespace weft::test {

/// A folder that goes with its owner.
class etcd_folder {
public:
    etcd_folder() {
        auto name = (std::filesystem::temp_directory_path() / "weft-etcd-XXXXXX").string();
        if (!::mkdtemp(name.data())) throw std::runtime_error("no folder for etcd");
        path_ = name;
    }
    ~etcd_folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    etcd_folder(const etcd_folder&) = delete;
    etcd_folder& operator=(const etcd_folder&) = delete;

    const std::filesystem::path& path() const noexcept { return path_; }

private:
    std::filesystem::path path_;
};

/// One server; of a cluster, if `cluster` names its members as etcd's --initial-cluster does.
class etcd_server {
public:
    explicit etcd_server(bool started = true) : etcd_server("alone", free_port(), {}) {
        if (started) start();
    }
    etcd_server(std::string name, std::uint16_t peer_port, std::string cluster)
        : name_(std::move(name)), cluster_(std::move(cluster)), port_(free_port()), peer_port_(peer_port) {}
    ~etcd_server() { kill(); }
    etcd_server(const etcd_server&) = delete;
    etcd_server& operator=(const etcd_server&) = delete;

    std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
    std::string peer() const { return "http://127.0.0.1:" + std::to_string(peer_port_); }
    const std::string& name() const noexcept { return name_; }

    /// Starts it, again on the same ports and with its data. Returns when it serves; a member of a cluster
    /// may not yet.
    void start() {
        launch();
        wait_until_it_serves();
    }
    void launch() {
        std::vector<std::string> words{"etcd",
                                       "--name",
                                       name_,
                                       "--data-dir",
                                       folder_.path() / "data",
                                       "--listen-client-urls",
                                       url(),
                                       "--advertise-client-urls",
                                       url(),
                                       "--listen-peer-urls",
                                       peer(),
                                       "--initial-advertise-peer-urls",
                                       peer(),
                                       "--initial-cluster",
                                       cluster_.empty() ? name_ + "=" + peer() : cluster_,
                                       "--log-level",
                                       "panic",
                                       "--logger",
                                       "zap",
                                       "--heartbeat-interval",
                                       "50",
                                       "--election-timeout",
                                       "500"};
        child_ = start_child(std::move(words));
    }
    void wait_until_it_serves() {
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        while (!listens(port_)) {
            int status = 0;
            if (::waitpid(child_, &status, WNOHANG) == child_) {
                child_ = -1;
                throw std::runtime_error("etcd ended at once");
            }
            if (std::chrono::steady_clock::now() > until) throw std::runtime_error("etcd does not listen");
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
    }

    void kill() {
        if (child_ <= 0) return;
        ::kill(child_, SIGKILL);
        ::waitpid(child_, nullptr, 0);
        child_ = -1;
    }

private:
    etcd_folder folder_;
    std::string name_, cluster_;
    std::uint16_t port_, peer_port_;
    pid_t child_ = -1;
};

/// Three servers that are one cluster.
class etcd_cluster {
public:
    etcd_cluster() {
        std::vector<std::uint16_t> peers;
        std::string all;
        for (int i = 0; i < 3; ++i) {
            peers.push_back(free_port());
            all += (i ? "," : "") + ("n" + std::to_string(i)) + "=http://127.0.0.1:" + std::to_string(peers.back());
        }
        for (int i = 0; i < 3; ++i)
            servers.push_back(std::make_unique<etcd_server>("n" + std::to_string(i), peers[static_cast<std::size_t>(i)], all));
        for (auto& s : servers) s->launch();
        for (auto& s : servers) s->wait_until_it_serves();
    }
    std::vector<std::string> urls() const {
        std::vector<std::string> all;
        for (const auto& s : servers) all.push_back(s->url());
        return all;
    }

    std::vector<std::unique_ptr<etcd_server>> servers;
};

}  // namespace weft::test
