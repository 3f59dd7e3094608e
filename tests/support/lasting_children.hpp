// lasting_children.hpp - starts child processes that end with this process, and not earlier.
#pragma once

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <condition_variable>
#include <functional>
#include <future>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace weft::test {

/// The system ends a child (PR_SET_PDEATHSIG) with the *thread* that has forked it. A test that starts a server
/// in a fiber may have lost its worker meanwhile, and then the thread is a spare and ends a second later. So
/// all children are forked on one thread, which is never ended. (Tests that count threads count it, too.)
class starter_of_children {
public:
    static starter_of_children& of_this_process() {
        static auto* const only = new starter_of_children;  // never freed: its thread waits in it
        return *only;
    }

    /// Blocks the thread until there is a child.
    pid_t start(std::function<pid_t()> fork) {
        std::packaged_task<pid_t()> job(std::move(fork));
        auto child = job.get_future();
        const std::lock_guard one_at_a_time(callers_);
        {
            const std::lock_guard guard(lock_);
            job_ = &job;
        }
        changed_.notify_one();
        return child.get();
    }

private:
    starter_of_children() {
        std::thread([this] { serve(); }).detach();
    }

    [[noreturn]] void serve() {
        for (;;) {
            std::unique_lock guard(lock_);
            changed_.wait(guard, [this] { return job_ != nullptr; });
            auto job = std::move(*std::exchange(job_, nullptr));
            guard.unlock();
            job();
        }
    }

    std::mutex callers_, lock_;
    std::condition_variable changed_;
    std::packaged_task<pid_t()>* job_ = nullptr;
};

/// Forks a child that gets the signal when this process ends, however it ends.
/// \param become  what the child does: system calls only, up to one of exec or _exit
/// \throws std::runtime_error if there can be no child
inline pid_t fork_child(int last_signal, const std::function<void()>& become) {
    return starter_of_children::of_this_process().start([&] {
        const pid_t parent = ::getpid(), child = ::fork();
        if (child < 0) throw std::runtime_error("no process for a child");
        if (child == 0) {
            ::prctl(PR_SET_PDEATHSIG, last_signal);
            if (::getppid() == parent) become();
            ::_exit(127);
        }
        return child;
    });
}

/// Starts a program, which is looked for in PATH unless its name has a slash. Exit code 127: it cannot be started.
inline pid_t start_child(std::vector<std::string> words, int last_signal = SIGKILL, const std::function<void()>& before = {}) {
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    return fork_child(last_signal, [&] {
        if (before) before();
        ::execvp(argv[0], argv.data());
    });
}

}  // namespace weft::test
