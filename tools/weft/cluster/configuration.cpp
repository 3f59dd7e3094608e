#include "cluster/configuration.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "cluster/certificates.hpp"

namespace cluster {
namespace {

void fail(const std::string& path) { throw std::runtime_error("cluster: " + path + ": " + std::strerror(errno)); }

void require_name(const std::string& what, const std::string& name) {
    const bool is_one = !name.empty() && name.size() <= 64 && std::ranges::all_of(name, [](unsigned char c) {
        return (std::isalnum(c) && c < 128) || c == '-' || c == '_';
    });
    if (!is_one)
        throw std::invalid_argument("cluster: the name of a " + what + " has 1 to 64 letters, digits, '-' and '_', unlike '" +
                                    name + "'");
    if (what == "node" && (name == "ca" || name == "server" || name == "root"))
        throw std::invalid_argument("cluster: a node cannot have the name '" + name + "': files of the folder have it");
}

/// Of groups, topics and queues: words as above, with dots between them; so none is a wildcard.
void require_subjects(const shared_subjects& shared) {
    for (const auto* const names : {&shared.groups, &shared.topics, &shared.queues})
        for (std::string rest : *names) {
            for (std::size_t dot; (dot = rest.find('.')) != std::string::npos; rest.erase(0, dot + 1))
                require_name("group, topic or queue", rest.substr(0, dot));
            require_name("group, topic or queue", rest);
        }
}

std::string new_password() {
    std::array<unsigned char, 24> bytes;
    if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) fail("getrandom");
    std::string text;
    for (const auto b : bytes) {
        constexpr std::string_view digits = "0123456789abcdef";
        text += {digits[b >> 4], digits[b & 15]};
    }
    return text;
}

std::string nats_configuration(const init_options& o) {
    const auto file = [&](const char* name) { return "\"" + o.folder + "/" + name + "\"\n"; };
    std::string text =
        "# Written by `weft cluster init`: nodes are known by their certificates, and may do what is listed here.\n"
        "listen: \"127.0.0.1:4222\"\n"
        "tls {\n"
        "    cert_file: " +
        file("server.pem") + "    key_file: " + file("server.key") + "    ca_file: " + file("ca.pem") +
        "    verify_and_map: true\n"
        "    timeout: 5\n"
        "}\n";
    if (!o.shared.queues.empty()) text += "jetstream { store_dir: " + file("jetstream") + "    sync_interval: always }\n";
    text += "authorization {\nusers: [\n";
    for (const auto& n : o.nodes) text += "{ user: \"OU=" + n + "\", " + nats_permissions(o.cluster, n, o.shared) + "}\n";
    return text + "]\n}\n";
}

void write_pair(const std::string& folder, const std::string& name, const issued& pem) {
    write_new_file(folder + "/" + name + ".pem", pem.certificate);
    write_new_file(folder + "/" + name + ".key", pem.key);
}

}  // namespace

void write_new_file(const std::string& path, const std::string& text) {
    const int fd = ::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0 && errno == EEXIST) throw std::runtime_error("cluster: " + path + " is there already, and is not overwritten");
    if (fd < 0) fail(path);
    const auto n = ::write(fd, text.data(), text.size());
    if (::close(fd) != 0 || n != static_cast<ssize_t>(text.size())) fail(path);
}

std::string etcd_configuration(const std::string& folder, const etcd_place& at) {
    const auto clients = "https://127.0.0.1:" + std::to_string(at.port),
               peers = "http://127.0.0.1:" + std::to_string(at.peer_port);
    return "# Written by `weft cluster`: one server. Its clients have a certificate, and users with passwords.\n"
           "name: weft\n"
           "data-dir: \"" +
           at.data +
           "\"\n"
           "listen-client-urls: \"" +
           clients +
           "\"\n"
           "advertise-client-urls: \"" +
           clients +
           "\"\n"
           "listen-peer-urls: \"" +
           peers +
           "\"\n"
           "initial-advertise-peer-urls: \"" +
           peers +
           "\"\n"
           "initial-cluster: \"weft=" +
           peers +
           "\"\n"
           "client-transport-security:\n"
           "  cert-file: \"" +
           folder +
           "/server.pem\"\n"
           "  key-file: \"" +
           folder +
           "/server.key\"\n"
           "  client-cert-auth: true\n"
           "  trusted-ca-file: \"" +
           folder +
           "/ca.pem\"\n"
           "enable-grpc-gateway: true\n"  // etcd 3.4 has it off in a file; weft::etcd speaks to it
           "logger: zap\n"
           "log-level: warn\n";
}

void write_configuration(const init_options& wanted) {
    auto o = wanted;
    require_name("cluster", o.cluster);
    for (const auto& n : o.nodes) require_name("node", n);
    require_subjects(o.shared);
    o.folder = std::filesystem::absolute(o.folder).lexically_normal();
    if (o.folder.find_first_of("\"\\\n") != std::string::npos)
        throw std::invalid_argument("cluster: the servers' files cannot name the folder '" + o.folder + "'");
    if (::mkdir(o.folder.c_str(), 0700) != 0 && errno != EEXIST) fail(o.folder);
    const nlohmann::json about = {{"cluster", o.cluster}, {"nodes", o.nodes}};
    write_new_file(o.folder + "/cluster.json", about.dump(4) + "\n");  // first: it refuses a folder that was written before
    const authority ca("weft cluster " + o.cluster, o.days);
    write_pair(o.folder, "ca", ca.pem());
    write_pair(o.folder, "server", ca.issue({.name = "server", .hosts = o.hosts, .days = o.days}));
    auto users = o.nodes;
    users.emplace_back("root");
    for (const auto& u : users) {
        write_pair(o.folder, u, ca.issue({.name = u, .days = o.days}));
        write_new_file(o.folder + "/" + u + ".password", new_password() + "\n");
    }
    write_new_file(o.folder + "/nats.conf", nats_configuration(o));
    write_new_file(o.folder + "/etcd.yml", etcd_configuration(o.folder, {.data = o.folder + "/etcd"}));
}

std::string configuration::password_of(const std::string& user) const {
    std::ifstream in(file(user + ".password"));
    std::string text;
    if (!std::getline(in, text)) throw std::runtime_error("cluster: there is no password in " + file(user + ".password"));
    return text;
}

configuration read_configuration(const std::string& folder) {
    const auto path = std::filesystem::absolute(folder).lexically_normal().string();
    std::ifstream in(path + "/cluster.json");
    if (!in) throw std::runtime_error("cluster: there is no " + path + "/cluster.json: `weft cluster init` writes such a folder");
    try {
        const auto about = nlohmann::json::parse(in);
        return {.folder = path, .cluster = about.at("cluster"), .nodes = about.at("nodes")};
    } catch (const nlohmann::json::exception& e) {
        throw std::runtime_error("cluster: " + path + "/cluster.json: " + e.what());
    }
}

}  // namespace cluster
