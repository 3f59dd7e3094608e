// service_process.hpp - the real weft command as a child process, with what it prints and how it ends.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/lasting_children.hpp"

namespace weft::test {

class service_process {
public:
    /// Runs `weft words...`, or another program that says in the same words where it listens.
    explicit service_process(std::vector<std::string> words, std::string program = WEFT_COMMAND) {
        int out[2], err[2];
        if (::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(err, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
        words.insert(words.begin(), std::move(program));
        child_ = start_child(std::move(words), SIGKILL, [&] {
            ::dup2(out[1], 1);
            ::dup2(err[1], 2);
        });
        ::close(out[1]);
        ::close(err[1]);
        out_ = out[0];
        err_ = err[0];
    }
    ~service_process() {
        if (child_ > 0) {
            ::kill(child_, SIGKILL);
            ::waitpid(child_, nullptr, 0);
        }
        ::close(out_);
        ::close(err_);
    }
    service_process(const service_process&) = delete;
    service_process& operator=(const service_process&) = delete;

    /// Waits for the line that says where it listens.
    std::uint16_t port(const std::string& scheme = "http") {
        std::string line;
        char c;
        while (readable(out_) && ::read(out_, &c, 1) == 1 && c != '\n') line += c;
        const std::string before = "listening on " + scheme + "://127.0.0.1:";
        if (!line.starts_with(before)) throw std::runtime_error("it printed: " + line + everything(err_));
        return static_cast<std::uint16_t>(std::stoi(line.substr(before.size())));
    }

    void signal(int number) const { ::kill(child_, number); }
    pid_t id() const noexcept { return child_; }

    /// Waits for the end. \returns the exit code; 128 and the signal if one ended it; -1 after ten seconds.
    int exit_code() {
        for (int i = 0; i < 10'000; ++i) {
            int status = 0;
            if (::waitpid(child_, &status, WNOHANG) == child_) {
                child_ = -1;
                return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            }
            ::usleep(1000);
        }
        return -1;
    }

    /// What is left to read, up to the end of the process.
    std::string output() { return everything(out_); }
    std::string errors() { return everything(err_); }

private:
    static bool readable(int fd) {
        pollfd ready{fd, POLLIN, 0};
        return ::poll(&ready, 1, 20'000) == 1;
    }
    static std::string everything(int fd) {
        std::string text;
        char piece[4096];
        for (ssize_t n; readable(fd) && (n = ::read(fd, piece, sizeof piece)) > 0;)
            text.append(piece, static_cast<std::size_t>(n));
        return text;
    }

    pid_t child_ = -1;
    int out_ = -1;
    int err_ = -1;
};

}  // namespace weft::test
