#include "cluster/dev.hpp"

#include <stdlib.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <vector>

#include <weft/weft.hpp>

#include "cluster/etcd_users.hpp"
#include "cluster/servers.hpp"
#include "cluster/watched.hpp"

namespace cluster {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr auto start_limit = 30s;

std::chrono::nanoseconds nanoseconds_of(double seconds) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds));
}

std::string text_of(double n) {
    std::ostringstream text;
    text << n;
    return text.str();
}

/// The folder that was asked for, which stays, or a temporary one.
class work_folder {
public:
    explicit work_folder(const std::string& wanted) : is_temporary_(wanted.empty()) {
        if (!is_temporary_) {
            fs::create_directories(wanted);
            path_ = fs::absolute(wanted);
            return;
        }
        auto name = (fs::temp_directory_path() / "weft-cluster-XXXXXX").string();
        if (!::mkdtemp(name.data())) throw std::runtime_error("cluster: cannot make a folder " + name);
        path_ = name;
    }
    ~work_folder() {
        std::error_code ignored;
        if (is_temporary_) fs::remove_all(path_, ignored);
    }
    work_folder(const work_folder&) = delete;
    work_folder& operator=(const work_folder&) = delete;
    const std::string& path() const { return path_; }

private:
    bool is_temporary_;
    std::string path_;
};

struct server {
    watched_options how;
    std::uint16_t port = 0;
    weft::io::process process;  ///< its first life; moved from when it is watched
    int pid = 0;                ///< of that life
};

/// \throws std::runtime_error if it ends, or does not listen in time
void wait_until_it_serves(server& s) {
    for (const auto until = weft::now() + start_limit; !listens(s.port); weft::this_fiber::sleep_for(20ms)) {
        if (s.process.try_wait())
            throw std::runtime_error("cluster: " + s.how.name + " has ended at once; see " + s.how.output.file);
        if (weft::now() > until)
            throw std::runtime_error("cluster: " + s.how.name + " does not listen; see " + s.how.output.file);
    }
}

class dev_cluster {
public:
    dev_cluster(const dev_options& o, programs found, const std::string& folder)
        : options_(o), found_(std::move(found)), folder_(folder) {
        for (int i = 1; i <= o.nodes; ++i) names_.push_back("a" + std::to_string(i));
        at_.folder = folder;
        if (!o.secure && o.config.empty()) return;
        const auto config = o.config.empty() ? folder + "/config" : o.config;
        if (o.config.empty()) write_configuration({.folder = config, .nodes = names_});
        secured_ = read_configuration(config);
        names_ = secured_.nodes;
        at_.secured = &secured_;
    }

    void run() {
        weft::io::signals stop({SIGINT, SIGTERM, SIGHUP});
        start_servers();
        weft::with_scope([&](weft::scope& servers) {
            for (auto* const s : {&nats_, &etcd_}) servers.spawn([this, s] { watch(starts_, s->how, std::move(s->process)); });
            weft::with_scope([&](weft::scope& nodes) {
                start_nodes(nodes);
                wait_for_the_end(stop);
                std::cout << "ending all processes" << std::endl;
                nodes.request_stop();
            });
            servers.request_stop();
        });
    }

private:
    void start_servers() {
        const auto pause = nanoseconds_of(options_.pause);
        const bool is_new = !fs::exists(folder_ + "/etcd");
        nats_.port = at_.nats;
        nats_.how = {.name = "nats-server",
                     .words = nats_words(found_.nats, at_),
                     .output = {.file = folder_ + "/nats-server.log"},
                     .pause = pause};
        etcd_.port = at_.etcd;
        etcd_.how = {
            .name = "etcd", .words = etcd_words(found_.etcd, at_), .output = {.file = folder_ + "/etcd.log"}, .pause = pause};
        for (auto* const s : {&nats_, &etcd_}) start(*s);
        for (auto* const s : {&nats_, &etcd_}) wait_until_it_serves(*s);
        if (at_.secured && is_new) set_up_users(*at_.secured, at_.etcd_url());
    }

    void start(server& s) {
        s.process = starts_.start(s.how.words, s.how.output);
        s.pid = s.process.id();
    }

    watched_options node(const std::string& name) const {
        watched_options how{.name = name,
                            .words = {fs::read_symlink("/proc/self/exe").string(), "cluster", "node", "--name", name, "--nats",
                                      at_.nats_url(), "--etcd", at_.etcd_url(), "--lease", text_of(options_.lease)},
                            .output = {},
                            .pause = nanoseconds_of(options_.pause)};
        if (at_.secured) how.words.insert(how.words.end(), {"--config", at_.secured->folder});
        return how;
    }

    void start_nodes(weft::scope& in) {
        std::vector<server> nodes;
        for (const auto& name : names_) {
            server n{.how = node(name), .process = {}};
            start(n);
            nodes.push_back(std::move(n));
        }
        print_what_to_do(nodes);
        for (auto& n : nodes)
            in.spawn([this, how = n.how, p = std::move(n.process)]() mutable { watch(starts_, how, std::move(p)); });
    }

    void print_what_to_do(const std::vector<server>& nodes) const {
        const auto line = [](const server& s, const std::string& more) {
            std::printf("%-11s  pid %d%s\n", s.how.name.c_str(), s.pid, more.c_str());
        };
        std::printf("%zu nodes of the bank example%s; logs and data are in %s\n\n", nodes.size(), at_.secured ? " with TLS" : "",
                    folder_.c_str());
        line(nats_, "  " + at_.nats_url());
        line(etcd_, "  " + at_.etcd_url());
        for (const auto& n : nodes) line(n, {});
        const auto lease = text_of(options_.lease), pause = text_of(options_.pause);
        const auto advice = [](const char* what, int pid, const std::string& then) {
            std::printf("  %-10s %-7d  %s\n", what, pid, then.c_str());
        };
        const int first = nodes[0].pid;
        std::printf("\nTry, in another terminal:\n");
        advice("kill -9", first, "the node dies: when its lease (" + lease + " s) ends, the others take its accounts");
        advice("kill -STOP", first, "it freezes: the same, and after kill -CONT it finds that it has lost them");
        advice("kill -9", nats_.pid, "nodes cannot talk: transfers wait");
        advice("kill -9", etcd_.pid, "no store: transfers wait; nodes whose lease ends give up their accounts");
        std::printf("What has ended is started again after %s s. Ctrl-C ends everything.\n\n", pause.c_str());
        std::fflush(stdout);
    }

    void wait_for_the_end(weft::io::signals& stop) const {
        if (options_.seconds <= 0) {
            stop.wait();
            return;
        }
        try {
            weft::with_timeout(nanoseconds_of(options_.seconds), [&] { stop.wait(); });
        } catch (const weft::timeout_error&) {}
    }

    const dev_options& options_;
    const programs found_;
    const std::string folder_;
    std::vector<std::string> names_;
    configuration secured_;
    places at_;
    starter starts_;
    server nats_, etcd_;
};

}  // namespace

void run_dev(const dev_options& o) {
    auto found = find_programs();
    const work_folder folder(o.folder);
    weft::run([&] { dev_cluster(o, std::move(found), folder.path()).run(); }, {.workers = 2});
}

}  // namespace cluster
