#include "cluster/starter.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <future>
#include <system_error>

#include <weft/blocking.hpp>

namespace cluster {
namespace {

[[noreturn]] void fail(const std::string& what) { throw std::system_error(errno, std::generic_category(), what); }

class descriptor {
public:
    explicit descriptor(int fd) : fd_(fd) {}
    ~descriptor() {
        if (fd_ >= 0) ::close(fd_);
    }
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;
    int get() const { return fd_; }
    int release() { return std::exchange(fd_, -1); }

private:
    int fd_;
};

/// What the child does between fork() and its program: system calls only, since other threads of the parent
/// may hold locks.
[[noreturn]] void become(char* const* argv, int input, int output, pid_t parent) {
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127);  // it has ended before the line above
    ::dup2(input, STDIN_FILENO);
    ::dup2(output, STDOUT_FILENO);
    ::dup2(output, STDERR_FILENO);
    ::execv(argv[0], argv);
    ::_exit(127);
}

pid_t fork_into(std::vector<std::string> words, int output) {
    const descriptor input(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (input.get() < 0) fail("cluster: /dev/null");
    std::vector<char*> argv;
    for (auto& w : words) argv.push_back(w.data());
    argv.push_back(nullptr);
    const pid_t parent = ::getpid(), child = ::fork();
    if (child < 0) fail("cluster: cannot start " + words[0]);
    if (child == 0) become(argv.data(), input.get(), output, parent);
    return child;
}

struct started {
    pid_t child;
    int out;
};

started start_here(const std::vector<std::string>& words, const child_output& to) {
    if (!to.file.empty()) {
        const descriptor file(::open(to.file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
        if (file.get() < 0) fail("cluster: " + to.file);
        return {fork_into(words, file.get()), -1};
    }
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail("cluster: pipe");
    descriptor ours(ends[0]);
    const descriptor childs(ends[1]);
    if (::fcntl(ours.get(), F_SETFL, O_NONBLOCK) != 0) fail("cluster: pipe");
    const auto child = fork_into(words, childs.get());
    return {child, ours.release()};
}

}  // namespace

starter::starter() : thread_([this] { serve(); }) {}

starter::~starter() {
    {
        const std::lock_guard guard(lock_);
        is_over_ = true;
    }
    changed_.notify_one();
    thread_.join();
}

void starter::serve() {
    std::unique_lock guard(lock_);
    for (;;) {
        changed_.wait(guard, [this] { return is_over_ || !jobs_.empty(); });
        if (is_over_) return;
        const auto job = std::move(jobs_.front());
        jobs_.pop_front();
        guard.unlock();
        job();
        guard.lock();
    }
}

weft::io::process starter::start(const std::vector<std::string>& words, const child_output& to) {
    const weft::shield until_it_is_known;  // otherwise a child could run whose id is lost
    std::promise<started> done;
    auto outcome = done.get_future();
    {
        const std::lock_guard guard(lock_);
        jobs_.emplace_back([&] {
            try {
                done.set_value(start_here(words, to));
            } catch (...) {
                done.set_exception(std::current_exception());
            }
        });
    }
    changed_.notify_one();
    const auto s = weft::blocking([&] { return outcome.get(); });
    return weft::io::process::adopt(s.child, s.out, -1);
}

}  // namespace cluster
