// child.cpp - posix_spawn, a pipe, and the end of the child.
#include "child.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <stdexcept>
#include <system_error>

namespace bench {
namespace {

[[noreturn]] void fail(int error, const std::string& what) { throw std::system_error(error, std::generic_category(), what); }

class file_actions {
public:
    file_actions() { ::posix_spawn_file_actions_init(&actions_); }
    ~file_actions() { ::posix_spawn_file_actions_destroy(&actions_); }
    file_actions(const file_actions&) = delete;
    file_actions& operator=(const file_actions&) = delete;

    void open(int as, const char* path, int flags) { ::posix_spawn_file_actions_addopen(&actions_, as, path, flags, 0); }
    void move(int from, int as) { ::posix_spawn_file_actions_adddup2(&actions_, from, as); }
    const posix_spawn_file_actions_t* get() const { return &actions_; }

private:
    posix_spawn_file_actions_t actions_;
};

pid_t start(const std::string& program, const std::vector<std::string>& words, const file_actions& files) {
    std::vector<std::string> copies{program};
    copies.insert(copies.end(), words.begin(), words.end());
    std::vector<char*> argv;
    for (auto& word : copies) argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_t child = 0;
    if (const int error = ::posix_spawnp(&child, program.c_str(), files.get(), nullptr, argv.data(), environ))
        fail(error, "cannot run " + program);
    return child;
}

int status_of(pid_t child) {
    int status = 0;
    while (::waitpid(child, &status, 0) < 0)
        if (errno != EINTR) fail(errno, "waitpid");
    return status;
}

std::string everything(int from) {
    std::string text;
    std::array<char, 4096> piece;
    for (ssize_t n; (n = ::read(from, piece.data(), piece.size())) != 0;) {
        if (n > 0) text.append(piece.data(), static_cast<std::size_t>(n));
        if (n < 0 && errno != EINTR) break;
    }
    return text;
}

}  // namespace

std::string own_program() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

std::vector<std::string> output_of(const std::string& program, const std::vector<std::string>& words) {
    std::array<int, 2> ends;
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail(errno, "pipe2");
    file_actions files;
    files.open(STDIN_FILENO, "/dev/null", O_RDONLY);
    files.move(ends[1], STDOUT_FILENO);
    pid_t child;
    try {
        child = start(program, words, files);
    } catch (...) {
        ::close(ends[0]);
        ::close(ends[1]);
        throw;
    }
    ::close(ends[1]);
    const auto text = everything(ends[0]);
    ::close(ends[0]);
    const int status = status_of(child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        throw std::runtime_error(program + (WIFEXITED(status) ? " ended with " + std::to_string(WEXITSTATUS(status))
                                                              : " was ended by signal " + std::to_string(WTERMSIG(status))));
    std::vector<std::string> lines;
    for (std::size_t from = 0, to; (to = text.find('\n', from)) != text.npos; from = to + 1)
        lines.push_back(text.substr(from, to - from));
    return lines;
}

bool succeeds(const std::string& program, const std::vector<std::string>& words) try {
    file_actions files;
    files.open(STDIN_FILENO, "/dev/null", O_RDONLY);
    files.open(STDOUT_FILENO, "/dev/null", O_WRONLY);
    files.open(STDERR_FILENO, "/dev/null", O_WRONLY);
    const int status = status_of(start(program, words, files));
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
} catch (const std::system_error&) {
    return false;
}

}  // namespace bench
