// children_test.cpp - waitpid() and its kin, on a thread and in fibers.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "hooks/calls/row.hpp"

namespace weft::test {
namespace {

/// A child that ends when it is told to, with a status of its own.
class child {
public:
    explicit child(int status) {
        EXPECT_EQ(::pipe2(pipe_, O_CLOEXEC), 0);
        pid_ = static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
        if (pid_ == 0) {
            char c;
            ::syscall(SYS_close, pipe_[1]);
            ::syscall(SYS_read, pipe_[0], &c, 1);
            ::syscall(SYS_exit_group, status);
        }
        ::syscall(SYS_close, pipe_[0]);
    }
    child(const child&) = delete;
    child& operator=(const child&) = delete;
    ~child() { end(); }
    void end() {
        if (pipe_[1] < 0) return;
        ::syscall(SYS_write, pipe_[1], "x", 1);  // later children have the end, too
        ::syscall(SYS_close, std::exchange(pipe_[1], -1));
    }
    pid_t pid() const { return pid_; }

private:
    int pipe_[2];
    pid_t pid_ = -1;
};

void note_status(notes& n, int status) {
    n("has exited", WIFEXITED(status));
    n("status", WEXITSTATUS(status));
}

TEST(hooked_children, are_waited_for) {
    expect_alike(in_fiber::park, [](notes& n) {
        int status = 0;
        child one(7), two(8), three(9);
        n("not yet", ::waitpid(one.pid(), &status, WNOHANG));
        n.later([&] { one.end(); });
        n("waitpid", ::waitpid(one.pid(), &status, 0) == one.pid());
        note_status(n, status);
        n.join();
        n("again", ::waitpid(one.pid(), &status, 0));

        rusage usage{};
        n.later([&] { two.end(); });
        n("wait4", ::wait4(two.pid(), &status, 0, &usage) == two.pid());
        note_status(n, status);
        n.join();

        siginfo_t change{};
        n.later([&] { three.end(); });
        n("waitid", ::waitid(P_PID, static_cast<id_t>(three.pid()), &change, WEXITED | WNOWAIT));
        n("it is", change.si_pid == three.pid());
        n("status", change.si_status);
        n("code", change.si_code);
        n.join();
        n("waitid", ::waitid(P_PID, static_cast<id_t>(three.pid()), nullptr, WEXITED));
        n("again", ::waitid(P_PID, static_cast<id_t>(three.pid()), nullptr, WEXITED));
    });
    expect_alike(in_fiber::park, [](notes& n) {
        child one(3);
        const int fd = static_cast<int>(::syscall(SYS_pidfd_open, one.pid(), 0));
        siginfo_t change{};
        n.later([&] { one.end(); });
        n("waitid", ::waitid(static_cast<idtype_t>(3), static_cast<id_t>(fd), &change, WEXITED));
        n("status", change.si_status);
        n.join();
        ::close(fd);
    });
}

TEST(hooked_children, of_any_kind_are_waited_for_plainly) {
    expect_alike(in_fiber::block, [](notes& n) {
        int status = 0;
        rusage usage{};
        child one(1), two(2), three(3), four(4);
        n.later([&] { one.end(); });
        n("wait", ::wait(&status) == one.pid());
        note_status(n, status);
        n.join();
        n.later([&] { two.end(); });
        n("wait3", ::wait3(&status, 0, &usage) == two.pid());
        note_status(n, status);
        n.join();
        n.later([&] { three.end(); });
        n("waitpid", ::waitpid(-1, &status, 0) == three.pid());
        note_status(n, status);
        n.join();
        siginfo_t change{};
        n.later([&] { four.end(); });
        n("waitid", ::waitid(P_ALL, 0, &change, WEXITED));
        n("status", change.si_status);
        n.join();
    });
    expect_alike(in_fiber::go_on, [](notes& n) {
        int status = 0;
        n("wait", ::wait(&status));
        n("waitpid", ::waitpid(::getpid(), &status, 0));
        n("waitpid", ::waitpid(1, &status, unseen(0x10'0000)));
        siginfo_t change{};
        n("waitid", ::waitid(P_PID, static_cast<id_t>(::getpid()), &change, WEXITED));
        n("waitid", ::waitid(P_PID, 1, &change, 0));
    });
}

}  // namespace
}  // namespace weft::test
