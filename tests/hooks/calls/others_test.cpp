// others_test.cpp - sleeps, look-ups, children, locks of files, copies between descriptors: on a thread and in fibers.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "hooks/calls/row.hpp"

extern "C" int __nanosleep(const timespec*, timespec*);

namespace weft::test {
namespace {

timespec from_now(clockid_t clock, std::chrono::nanoseconds t) {
    timespec now{};
    ::clock_gettime(clock, &now);
    const auto ns = now.tv_nsec + t.count();
    return {now.tv_sec + ns / 1'000'000'000, ns % 1'000'000'000};
}

TEST(hooked_sleeps, take_their_time) {
    expect_alike(in_fiber::park, [](notes& n) {
        const timespec t{0, 20'000'000};
        timespec left{5, 5};
        n.takes(20ms, "usleep", [] { return ::usleep(20'000); });
        n.takes(20ms, "nanosleep", [&] { return ::nanosleep(&t, &left); });
        n("left", left.tv_sec);
        n.takes(20ms, "__nanosleep", [&] { return ::__nanosleep(&t, nullptr); });
        n.takes(20ms, "clock_nanosleep", [&] { return ::clock_nanosleep(CLOCK_REALTIME, 0, &t, &left); });
        n.takes(20ms, "clock_nanosleep", [&] { return ::clock_nanosleep(CLOCK_MONOTONIC, 0, &t, nullptr); });
        for (const clockid_t clock : {CLOCK_REALTIME, CLOCK_MONOTONIC}) {
            const auto until = from_now(clock, 20ms);
            n.takes(19ms, "until", [&] { return ::clock_nanosleep(clock, TIMER_ABSTIME, &until, nullptr); });
            n("it has passed", ::clock_nanosleep(clock, TIMER_ABSTIME, &until, nullptr));
        }
        n.takes(20ms, "sleep_for", [] {
            std::this_thread::sleep_for(20ms);
            return 0;
        });
    });
    expect_alike(in_fiber::park, [](notes& n) { n.takes(1000ms, "sleep", [] { return static_cast<long>(::sleep(1)); }); });
    expect_alike(in_fiber::anything, [](notes& n) {
        n("sleep", ::sleep(0));
        n("usleep", ::usleep(0));
        const timespec none{0, 0};
        n("nanosleep", ::nanosleep(&none, nullptr));
    });
}

TEST(hooked_sleeps, of_other_clocks_are_plain) {
    expect_alike(in_fiber::block, [](notes& n) {
        const timespec t{0, 20'000'000};
        n.takes(20ms, "clock_nanosleep", [&] { return ::clock_nanosleep(CLOCK_BOOTTIME, 0, &t, nullptr); });
    });
}

TEST(hooked_sleeps, with_wrong_arguments) {
    expect_alike(in_fiber::go_on, [](notes& n) {
        const timespec wrong{0, -1}, too_many{0, 1'000'000'000}, negative{-1, 0}, some{0, 1000};
        for (const auto* t : {&wrong, &too_many, &negative}) {
            n("nanosleep", ::nanosleep(t, nullptr));
            n("clock_nanosleep", ::clock_nanosleep(CLOCK_MONOTONIC, 0, t, nullptr));
            n("clock_nanosleep", ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, t, nullptr));
        }
        n("nanosleep", ::nanosleep(unseen<timespec*>(nullptr), nullptr));
        n("clock_nanosleep", ::clock_nanosleep(CLOCK_THREAD_CPUTIME_ID, 0, &some, nullptr));
        n("clock_nanosleep", ::clock_nanosleep(12345, 0, &some, nullptr));
    });
}

void note_host(notes& n, const hostent* h) {
    n("found", h != nullptr);
    if (!h) return;
    n.data("name", h->h_name);
    n("length", h->h_length);
    if (h->h_addr_list[0]) n.data("address", {h->h_addr_list[0], static_cast<std::size_t>(h->h_length)});
}

TEST(hooked_look_ups, of_names) {
    expect_alike(in_fiber::park, [](notes& n) {
        addrinfo hints{};
        hints.ai_family = AF_INET;
        hints.ai_socktype = SOCK_STREAM;
        addrinfo* found = nullptr;
        n("getaddrinfo", ::getaddrinfo("localhost", "80", &hints, &found));
        for (const auto* a = found; a; a = a->ai_next)
            n.data("address", {reinterpret_cast<const char*>(a->ai_addr), a->ai_addrlen});
        if (found) ::freeaddrinfo(found);
        n("no service", ::getaddrinfo("localhost", "no such service", &hints, &found));

        sockaddr_in a{};
        a.sin_family = AF_INET;
        a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        char host[100] = {}, service[100] = {};
        n("getnameinfo", ::getnameinfo(reinterpret_cast<sockaddr*>(&a), sizeof a, host, sizeof host, service, sizeof service, 0));
        n.data("host", host);
        n.data("service", service);
        n("too small", ::getnameinfo(reinterpret_cast<sockaddr*>(&a), sizeof a, host, 1, nullptr, 0, 0));
    });
    expect_alike(in_fiber::go_on, [](notes& n) {
        addrinfo hints{};
        hints.ai_flags = AI_NUMERICHOST;
        hints.ai_socktype = SOCK_STREAM;
        addrinfo* found = nullptr;
        n("getaddrinfo", ::getaddrinfo("127.0.0.1", "80", &hints, &found));
        if (found) ::freeaddrinfo(found);
        n("no number", ::getaddrinfo("localhost", "80", &hints, &found));
        n("nothing", ::getaddrinfo(nullptr, nullptr, nullptr, &found));
        sockaddr_in a{};
        a.sin_family = AF_INET;
        char host[100] = {};
        n("getnameinfo", ::getnameinfo(reinterpret_cast<sockaddr*>(&a), sizeof a, host, sizeof host, nullptr, 0, NI_NUMERICHOST));
        n.data("host", host);
    });
}

TEST(hooked_look_ups, of_hosts) {
    expect_alike(in_fiber::park, [](notes& n) {
        hostent h{}, *found = nullptr;
        char buffer[1024];
        int reason = 0;
        const in_addr_t a = htonl(INADDR_LOOPBACK);
        n("gethostbyname_r", ::gethostbyname_r("localhost", &h, buffer, sizeof buffer, &found, &reason));
        note_host(n, found);
        n("gethostbyname2_r", ::gethostbyname2_r("localhost", AF_INET, &h, buffer, sizeof buffer, &found, &reason));
        note_host(n, found);
        n("gethostbyaddr_r", ::gethostbyaddr_r(&a, sizeof a, AF_INET, &h, buffer, sizeof buffer, &found, &reason));
        note_host(n, found);
        n("too small", ::gethostbyname_r("localhost", &h, buffer, 3, &found, &reason));
        note_host(n, ::gethostbyname("localhost"));
        note_host(n, ::gethostbyname2("localhost", AF_INET));
        note_host(n, ::gethostbyaddr(&a, sizeof a, AF_INET));
        note_host(n, ::gethostbyname(""));
        n("why", h_errno);
    });
}

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

/// A file that is locked by another process.
class locked_file {
public:
    enum class by { flock, range };
    explicit locked_file(by how) : holder_(0) {
        char path[] = "/tmp/hooked_locks.XXXXXX";
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

/// A file of so many bytes, opened for reading.
int file_of(std::string_view bytes) {
    char path[] = "/tmp/hooked_copies.XXXXXX";
    const int fd = ::mkstemp(path);
    ::unlink(path);
    EXPECT_EQ(::syscall(SYS_write, fd, bytes.data(), bytes.size()), static_cast<long>(bytes.size()));
    ::lseek(fd, 0, SEEK_SET);
    return fd;
}

TEST(hooked_copies, of_a_file_to_a_slow_reader) {
    const std::string sent = much();
    for (const kind k : {kind::tcp, kind::unix_stream, kind::pipe})
        for (const bool with_offset : {false, true})
            expect_alike(in_fiber::park, [&](notes& n) {
                pair_of_descriptors ends(k);
                const std::size_t reader = k == kind::pipe ? 0 : 1, writer = 1 - reader;
                const int file = file_of(sent);
                std::string received;
                off_t offset = 5;
                if (k == kind::pipe) ends.fill(writer);  // else it gets what fits, and no more
                n.later([&] { received = drain(ends[reader]); });
                const auto r = with_offset ? ::sendfile(ends[writer], file, &offset, sent.size())
                                           : ::sendfile64(ends[writer], file, nullptr, sent.size());
                if (k == kind::pipe) {
                    n("a part", r > 0);
                } else {
                    n("sendfile", r);
                    n("offset", offset);
                    n("position", ::lseek(file, 0, SEEK_CUR));
                }
                ends.close(writer);
                n.join();
                if (k != kind::pipe) n.data("received", received);
                ::close(file);
            });
}

TEST(hooked_copies, that_do_not_wait) {
    expect_alike(in_fiber::go_on, [](notes& n) {
        const int file = file_of("some bytes"), to = file_of("");
        const pair_of_descriptors ends(kind::unix_stream), pipe(kind::pipe), full(kind::pipe);
        n("sendfile", ::sendfile(ends[0], file, nullptr, 4));
        n("to a file", ::sendfile(to, file, nullptr, 100));
        n("at the end", ::sendfile(ends[0], file, nullptr, 100));
        n("none", ::sendfile(ends[0], file, nullptr, 0));
        n("nothing there", ::splice(pipe[0], nullptr, ends[0], nullptr, 10, SPLICE_F_NONBLOCK));
        off64_t offset = 0;
        n("splice", ::splice(file, &offset, pipe[1], nullptr, 100, 0));
        n("splice", ::splice(pipe[0], nullptr, ends[0], nullptr, 100, 0));
        ::fcntl(full[1], F_SETFL, O_NONBLOCK);
        full.fill(1);
        ::fcntl(full[1], F_SETFL, O_NONBLOCK);
        offset = 0;
        n("full", ::splice(file, &offset, full[1], nullptr, 100, 0));
        n("sendfile", ::sendfile(-1, file, nullptr, 4));
        n("sendfile", ::sendfile(ends[0], -1, nullptr, 4));
        n("sendfile", ::sendfile(ends[0], pipe[0], nullptr, 0));
        n("no pipe", ::splice(file, nullptr, ends[0], nullptr, 10, 0));
        n("splice", ::splice(-1, nullptr, pipe[1], nullptr, 10, 0));
        n("offset of a pipe", ::splice(pipe[0], &offset, ends[0], nullptr, 10, 0));
        n("splice", ::splice(pipe[0], nullptr, ends[0], nullptr, 0, 0));
        ::close(file);
        ::close(to);
    });
}

TEST(hooked_copies, between_pipes_and_sockets) {
    for (const kind k : {kind::tcp, kind::unix_stream}) {
        expect_alike(in_fiber::park, [&](notes& n) {  // nothing is there yet
            const pair_of_descriptors ends(k), pipe(kind::pipe);
            n.later([&] { ::syscall(SYS_write, ends[1], "some bytes", 10); });
            n("splice", ::splice(ends[0], nullptr, pipe[1], nullptr, 100, 0));
            n.data("it is", drain(pipe[0], 10));
            n.join();
            n.later([&] { ::syscall(SYS_write, pipe[1], "other bytes", 11); });
            n("splice", ::splice(pipe[0], nullptr, ends[0], nullptr, 100, 0));
            n.data("it is", drain(ends[1], 11));
            n.join();
        });
        expect_alike(in_fiber::park, [&](notes& n) {  // there is no room
            const pair_of_descriptors ends(k), pipe(kind::pipe);
            ends.fill(0);
            ::syscall(SYS_write, pipe[1], "some bytes", 10);
            n.later([&] {
                char room[1 << 16];
                while (::syscall(SYS_recvfrom, ends[1], room, sizeof room, MSG_DONTWAIT, nullptr, nullptr) > 0) continue;
            });
            n("splice", ::splice(pipe[0], nullptr, ends[0], nullptr, 100, 0));
            n.join();
        });
    }
    expect_alike(in_fiber::park, [](notes& n) {
        pair_of_descriptors from(kind::pipe), to(kind::pipe);
        n.later([&] { ::syscall(SYS_write, from[1], "some bytes", 10); });
        n("splice", ::splice(from[0], nullptr, to[1], nullptr, 100, 0));
        n.data("it is", drain(to[0], 10));
        n.join();
        n.later([&] { from.close(1); });
        n("the end", ::splice(from[0], nullptr, to[1], nullptr, 100, 0));
        n.join();
    });
}

}  // namespace
}  // namespace weft::test
