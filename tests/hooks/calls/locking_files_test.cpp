// locking_files_test.cpp - flock(), fcntl() and lockf(), on a thread and in fibers.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "hooks/calls/row.hpp"

namespace weft::test {
namespace {

/// A file that is locked by another process.
class locked_file {
public:
    enum class by { flock, range };
    explicit locked_file(by how) : holder_(0) {
        char path[] = P_tmpdir "/hooked_locks.XXXXXX";
        fd = ::mkstemp(path);
        path_ = path;
        int told[2];
        EXPECT_EQ(::pipe2(told, O_CLOEXEC), 0);
        EXPECT_EQ(::pipe2(ends_, O_CLOEXEC), 0);
        holder_ = static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
        if (holder_ == 0) {
            const long own = ::syscall(SYS_openat, AT_FDCWD, path, O_RDWR);
            struct flock all {};
            all.l_type = F_WRLCK;
            if (how == by::flock)
                ::syscall(SYS_flock, own, LOCK_EX);
            else
                ::syscall(SYS_fcntl, own, F_SETLKW, &all);
            char c = 'x';
            ::syscall(SYS_write, told[1], &c, 1);
            ::syscall(SYS_close, ends_[1]);
            ::syscall(SYS_read, ends_[0], &c, 1);
            ::syscall(SYS_exit_group, 0);
        }
        char c;
        EXPECT_EQ(::syscall(SYS_read, told[0], &c, 1), 1);
        for (const int end : {told[0], told[1], ends_[0]}) ::syscall(SYS_close, end);
    }
    locked_file(const locked_file&) = delete;
    locked_file& operator=(const locked_file&) = delete;
    ~locked_file() {
        release();
        ::close(fd);
        ::unlink(path_.c_str());
    }
    void release() {
        if (holder_ == 0) return;
        ::syscall(SYS_close, ends_[1]);
        ::syscall(SYS_wait4, std::exchange(holder_, 0), nullptr, 0, nullptr);
    }
    int fd = -1;

private:
    std::string path_;
    int ends_[2];
    pid_t holder_;
};

struct flock whole_file(short type) {
    struct flock all {};
    all.l_type = type;
    return all;
}

TEST(hooked_locks_of_files, are_waited_for) {
    expect_alike(in_fiber::park, [](notes& n) {
        locked_file f(locked_file::by::flock);
        n("taken", ::flock(f.fd, LOCK_SH | LOCK_NB));
        n.later([&] { f.release(); });
        n("flock", ::flock(f.fd, LOCK_EX));
        n.join();
        n("unlock", ::flock(f.fd, LOCK_UN));
        n("free", ::flock(f.fd, LOCK_SH));
    });
    for (const int command : {F_SETLKW, F_OFD_SETLKW})
        expect_alike(in_fiber::park, [&](notes& n) {
            locked_file f(locked_file::by::range);
            auto all = whole_file(F_WRLCK);
            n("taken", ::fcntl(f.fd, command == F_SETLKW ? F_SETLK : F_OFD_SETLK, &all));
            n.later([&] { f.release(); });
            n("fcntl", ::fcntl(f.fd, command, &all));
            n.join();
            auto none = whole_file(F_UNLCK);
            n("unlock", ::fcntl(f.fd, command, &none));
        });
    expect_alike(in_fiber::park, [](notes& n) {
        locked_file f(locked_file::by::range);
        n("taken", ::lockf(f.fd, F_TLOCK, 0));
        n("test", ::lockf(f.fd, F_TEST, 0));
        n.later([&] { f.release(); });
        n("lockf", ::lockf64(f.fd, F_LOCK, 0));
        n.join();
        n("test", ::lockf(f.fd, F_TEST, 0));
        n("unlock", ::lockf(f.fd, F_ULOCK, 0));
    });
}

TEST(hooked_locks_of_files, and_other_commands) {
    expect_alike(in_fiber::go_on, [](notes& n) {
        const pair_of_descriptors pipe(kind::pipe);
        n("fcntl", ::fcntl(pipe[0], F_GETFL));
        n("fcntl", ::fcntl(pipe[0], F_SETFD, FD_CLOEXEC));
        n("fcntl64", ::fcntl64(pipe[0], F_GETFD));
        const int copy = ::fcntl(pipe[0], F_DUPFD_CLOEXEC, 50);
        n("copy", copy >= 50);
        ::close(copy);
        n("owner", ::fcntl(pipe[0], F_GETOWN));
        n("flock", ::flock(-1, LOCK_EX));
        n("flock", ::flock(pipe[0], 77));
        auto all = whole_file(F_WRLCK);
        n("fcntl", ::fcntl(-1, F_SETLKW, &all));
        n("fcntl", ::fcntl(pipe[0], F_SETLKW, &all));
        n("fcntl", ::fcntl(pipe[0], F_SETLKW, nowhere<struct flock>()));
        n("fcntl", ::fcntl(pipe[0], 12345, 0));
        n("lockf", ::lockf(-1, F_LOCK, 0));
        n("lockf", ::lockf(pipe[0], unseen(99), 0));
    });
}

}  // namespace
}  // namespace weft::test
