#include "cluster/servers.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include <weft/net/tcp.hpp>

namespace cluster {
namespace {

std::string find_program(const std::string& name) {
    const char* const path = std::getenv("PATH");
    std::istringstream folders(std::string(path ? path : "") + ":/usr/sbin:/usr/local/sbin");
    for (std::string folder; std::getline(folders, folder, ':');) {
        const auto file = std::filesystem::path(folder) / name;
        if (!folder.empty() && ::access(file.c_str(), X_OK) == 0 && std::filesystem::is_regular_file(file)) return file;
    }
    return {};
}

bool is_free(std::uint16_t port) {
    std::error_code taken;
    const weft::tcp::listener there({.host = "127.0.0.1", .port = port}, {}, taken);
    return !taken;
}

}  // namespace

programs find_programs() {
    programs found{.nats = find_program("nats-server"), .etcd = find_program("etcd")};
    if (!found.nats.empty() && !found.etcd.empty()) return found;
    const std::string missing = found.nats.empty() ? found.etcd.empty() ? "nats-server and etcd" : "nats-server" : "etcd";
    const std::string packages =
        found.nats.empty() ? found.etcd.empty() ? "nats-server etcd-server" : "nats-server" : "etcd-server";
    throw std::runtime_error("cluster: there is no " + missing +
                             " in PATH, /usr/sbin or /usr/local/sbin; on Debian and Ubuntu: apt install " + packages);
}

std::uint16_t free_port() {
    unsigned lowest_given = 32768;
    std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> lowest_given;
    if (lowest_given < 4096) throw std::runtime_error("cluster: no port on loopback that a server may come back to");
    std::random_device random;
    std::uniform_int_distribution<unsigned> any(lowest_given / 2, lowest_given - 1);
    for (int tries = 0; tries < 100; ++tries)
        if (const auto port = static_cast<std::uint16_t>(any(random)); is_free(port)) return port;
    throw std::runtime_error("cluster: no free port on loopback");
}

bool listens(std::uint16_t port) {
    std::error_code refused;
    const auto there = weft::tcp::stream::connect({.host = "127.0.0.1", .port = port}, refused);
    return !refused;
}

std::vector<std::string> nats_words(const std::string& program, std::uint16_t port) {
    return {program, "--addr", "127.0.0.1", "--port", std::to_string(port)};
}

std::vector<std::string> etcd_words(const std::string& program, const std::string& folder, std::uint16_t port,
                                    std::uint16_t peer_port) {
    const auto clients = "http://127.0.0.1:" + std::to_string(port), peers = "http://127.0.0.1:" + std::to_string(peer_port);
    return {program,
            "--name=dev",
            "--data-dir=" + folder + "/etcd",
            "--listen-client-urls=" + clients,
            "--advertise-client-urls=" + clients,
            "--listen-peer-urls=" + peers,
            "--initial-advertise-peer-urls=" + peers,
            "--initial-cluster=dev=" + peers,
            "--logger=zap",
            "--log-level=warn"};
}

}  // namespace cluster
