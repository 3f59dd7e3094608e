// server_process.cpp - fork, pipes and /proc.
#include "soak/service/server_process.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <utility>

#include "arch/sanitizer.hpp"
#include "soak/support/expected_line.hpp"

namespace soak {

namespace {

using namespace std::chrono_literals;

/// As the server is: some ten times slower, so that among hogs a request may take as long as one.
constexpr bool is_instrumented = WEFT_UNDER_ASAN || WEFT_UNDER_TSAN;

std::vector<std::string> words_for(const plan& p, const std::string& redis_url, const std::string& sqlite_file) {
    const std::pair<const char*, std::string> options[] = {{"--redis", redis_url},
                                                           {"--sqlite", sqlite_file},
                                                           {"--idle-ms", std::to_string(plan::idle_limit.count())},
                                                           {"--cold-ms", std::to_string(p.cold_after().count())},
                                                           {"--header-ms", std::to_string(p.header_limit().count())},
                                                           {"--write-ms", std::to_string(p.write_limit().count())},
                                                           {"--seed", std::to_string(p.seed)},
                                                           {"--fault", p.fault},
                                                           {"--every", std::to_string(p.every)}};
    std::vector<std::string> words{p.server};
    for (const auto& [name, value] : options) words.insert(words.end(), {name, value});
    return words;
}

}  // namespace

server_process::server_process(const plan& p, const std::string& redis_url, const std::string& sqlite_file, const trouble& t,
                               findings& f)
    : trouble_(t), found_(f) {
    start(words_for(p, redis_url, sqlite_file));
}

server_process::~server_process() {
    if (child_ > 0) {
        ::kill(child_, SIGKILL);
        ::waitpid(child_, nullptr, 0);
    }
    if (reader_.joinable()) reader_.join();
}

void server_process::start(const std::vector<std::string>& words) {
    int out[2], err[2];
    if (::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(err, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    std::vector<char*> argv;
    argv.reserve(words.size() + 1);
    for (const auto& w : words) argv.push_back(const_cast<char*>(w.c_str()));
    argv.push_back(nullptr);
    child_ = ::fork();
    if (child_ == 0) {
        ::dup2(out[1], 1);
        ::dup2(err[1], 2);
        ::execv(argv[0], argv.data());
        ::_exit(127);
    }
    ::close(out[1]);
    ::close(err[1]);
    reader_ = std::thread([this, from = err[0]] { read_lines(from); });
    read_ports(out[0]);
}

void server_process::read_ports(int from) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> out(::fdopen(from, "r"), std::fclose);
    unsigned ports[3];
    if (std::fscanf(out.get(), "ports %u %u %u", &ports[0], &ports[1], &ports[2]) != 3)
        throw std::runtime_error("the server does not start");
    for (int i = 0; i < 3; ++i) ports_[i] = static_cast<std::uint16_t>(ports[i]);
}

void server_process::read_lines(int from) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> in(::fdopen(from, "r"), std::fclose);
    std::string line;
    for (int c; (c = std::getc(in.get())) != EOF;) {
        if (c != '\n') {
            line += static_cast<char>(c);
            continue;
        }
        judge(line);
        line.clear();
    }
    if (!line.empty()) judge(line);
}

void server_process::judge(const std::string& line) {
    const auto [kind, reason] = read(line);
    switch (kind) {
        case line_kind::hog: ++lines_.hogs; return;
        case line_kind::lock: ++lines_.locks; return;
        case line_kind::slow:
            if (!is_instrumented) break;
            ++lines_.slow;
            return;
        case line_kind::accept: ++lines_.accepts; return;
        case line_kind::unread: ++lines_.unread; return;
        case line_kind::failure:
            if (!trouble::is_about_redis(reason) || !trouble_.excuses(clock::now())) break;
            ++lines_.failures;
            return;
        case line_kind::other: break;
    }
    found_.reports.add(line);
}

footprint server_process::look() const {
    const auto process = "/proc/" + std::to_string(child_);
    footprint now;
    std::ifstream status(process + "/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("VmRSS:")) now.resident_mib = std::stod(line.substr(6)) / 1024;
        if (line.starts_with("Threads:")) now.threads = static_cast<unsigned>(std::stoul(line.substr(8)));
    }
    for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator(process + "/fd")) ++now.descriptors;
    return now;
}

std::optional<std::string> server_process::end(milliseconds patience) {
    ::kill(child_, SIGTERM);
    int status = 0;
    const auto until = clock::now() + patience;
    while (::waitpid(child_, &status, WNOHANG) != child_) {
        if (clock::now() > until) return "it runs on after SIGTERM";
        std::this_thread::sleep_for(5ms);
    }
    child_ = -1;
    reader_.join();
    if (WIFSIGNALED(status)) return "killed by signal " + std::to_string(WTERMSIG(status));
    if (WEXITSTATUS(status) != 0) return "exit code " + std::to_string(WEXITSTATUS(status));
    return std::nullopt;
}

}  // namespace soak
