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

std::string places::nats_url() const { return (secured ? "tls://127.0.0.1:" : "nats://127.0.0.1:") + std::to_string(nats); }
std::string places::etcd_url() const { return (secured ? "https://127.0.0.1:" : "http://127.0.0.1:") + std::to_string(etcd); }

std::vector<std::string> nats_words(const std::string& program, const places& at) {
    std::vector<std::string> words{program, "--addr", "127.0.0.1", "--port", std::to_string(at.nats)};
    if (at.secured) words.insert(words.end(), {"--config", at.secured->file("nats.conf")});
    return words;
}

std::vector<std::string> etcd_words(const std::string& program, const places& at) {
    const auto data = at.folder + "/etcd", peers = "http://127.0.0.1:" + std::to_string(at.etcd_peer);
    if (at.secured) {
        const auto file = at.folder + "/etcd.yml";
        std::filesystem::remove(file);  // of an earlier run in this folder
        write_new_file(file, etcd_configuration(at.secured->folder, {.data = data, .port = at.etcd, .peer_port = at.etcd_peer}));
        return {program, "--config-file=" + file};
    }
    return {program,
            "--name=weft",
            "--data-dir=" + data,
            "--listen-client-urls=" + at.etcd_url(),
            "--advertise-client-urls=" + at.etcd_url(),
            "--listen-peer-urls=" + peers,
            "--initial-advertise-peer-urls=" + peers,
            "--initial-cluster=weft=" + peers,
            "--logger=zap",
            "--log-level=warn"};
}

}  // namespace cluster
