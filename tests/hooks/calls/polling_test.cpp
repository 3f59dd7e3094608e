// polling_test.cpp - poll(), select(), epoll_wait() and their kin, on a thread and in fibers.
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <memory>

#include "hooks/calls/row.hpp"

extern "C" {
int __poll(pollfd*, nfds_t, int);
int __poll_chk(pollfd*, nfds_t, int, std::size_t);
int __ppoll_chk(pollfd*, nfds_t, const timespec*, const sigset_t*, std::size_t);
int __select(int, fd_set*, fd_set*, fd_set*, timeval*);
}

namespace weft::test {
namespace {

timespec as_timespec(int ms) { return {ms / 1000, ms % 1000 * 1'000'000L}; }

/// One way to poll; a negative time is for ever.
struct way_to_poll {
    const char* name;
    int (*call)(pollfd*, nfds_t, int ms);
};

int by_ppoll(pollfd* p, nfds_t n, int ms) {
    const timespec t = as_timespec(ms);
    return ::ppoll(p, n, ms < 0 ? nullptr : &t, nullptr);
}
int by_ppoll_chk(pollfd* p, nfds_t n, int ms) {
    const timespec t = as_timespec(ms);
    return ::__ppoll_chk(p, n, ms < 0 ? nullptr : &t, nullptr, n * sizeof *p);
}

/// The sets of select() from those of poll(), and back. Exceptional is POLLPRI.
template <class Call>
int by_sets(pollfd* p, nfds_t n, const Call& call) {
    fd_set in, out, other;
    FD_ZERO(&in);
    FD_ZERO(&out);
    FD_ZERO(&other);
    int top = 0;
    for (nfds_t i = 0; i < n; ++i) {
        if (p[i].fd < 0) continue;
        if (p[i].events & POLLIN) FD_SET(p[i].fd, &in);
        if (p[i].events & POLLOUT) FD_SET(p[i].fd, &out);
        if (p[i].events & POLLPRI) FD_SET(p[i].fd, &other);
        top = std::max(top, p[i].fd + 1);
    }
    const int r = call(top, &in, &out, &other);
    for (nfds_t i = 0; i < n && r >= 0; ++i)
        if (p[i].fd >= 0)
            p[i].revents = static_cast<short>((FD_ISSET(p[i].fd, &in) ? POLLIN : 0) | (FD_ISSET(p[i].fd, &out) ? POLLOUT : 0) |
                                              (FD_ISSET(p[i].fd, &other) ? POLLPRI : 0));
    return r;
}
int by_select(pollfd* p, nfds_t n, int ms) {
    return by_sets(p, n, [&](int top, auto... sets) {
        timeval t{ms / 1000, ms % 1000 * 1000L};
        return ::select(top, sets..., ms < 0 ? nullptr : &t);
    });
}
int by_select_alias(pollfd* p, nfds_t n, int ms) {
    return by_sets(p, n, [&](int top, auto... sets) {
        timeval t{ms / 1000, ms % 1000 * 1000L};
        return ::__select(top, sets..., ms < 0 ? nullptr : &t);
    });
}
int by_pselect(pollfd* p, nfds_t n, int ms) {
    return by_sets(p, n, [&](int top, auto... sets) {
        const timespec t = as_timespec(ms);
        return ::pselect(top, sets..., ms < 0 ? nullptr : &t, nullptr);
    });
}

template <class Wait>
int by_epoll(pollfd* p, nfds_t n, const Wait& wait) {
    const int e = ::epoll_create1(EPOLL_CLOEXEC);
    for (nfds_t i = 0; i < n; ++i) {
        epoll_event event{};
        event.events = static_cast<std::uint32_t>(p[i].events);
        event.data.u64 = i;
        if (p[i].fd >= 0) ::epoll_ctl(e, EPOLL_CTL_ADD, p[i].fd, &event);
    }
    epoll_event events[8];
    const int r = wait(e, events);
    const int error = errno;
    for (int i = 0; i < r; ++i) p[events[i].data.u64].revents = static_cast<short>(events[i].events);
    ::close(e);
    errno = error;
    return r;
}
int by_epoll_wait(pollfd* p, nfds_t n, int ms) {
    return by_epoll(p, n, [&](int e, epoll_event* events) { return ::epoll_wait(e, events, 8, ms); });
}
int by_epoll_pwait(pollfd* p, nfds_t n, int ms) {
    return by_epoll(p, n, [&](int e, epoll_event* events) { return ::epoll_pwait(e, events, 8, ms, nullptr); });
}
int by_epoll_pwait2(pollfd* p, nfds_t n, int ms) {
    return by_epoll(p, n, [&](int e, epoll_event* events) {
        const timespec t = as_timespec(ms);
        return ::epoll_pwait2(e, events, 8, ms < 0 ? nullptr : &t, nullptr);
    });
}

const way_to_poll ways[] = {
    {"poll", [](pollfd* p, nfds_t n, int ms) { return ::poll(p, n, ms); }},
    {"__poll", [](pollfd* p, nfds_t n, int ms) { return ::__poll(p, n, ms); }},
    {"__poll_chk", [](pollfd* p, nfds_t n, int ms) { return ::__poll_chk(p, n, ms, n * sizeof *p); }},
    {"ppoll", by_ppoll},
    {"__ppoll_chk", by_ppoll_chk},
    {"select", by_select},
    {"__select", by_select_alias},
    {"pselect", by_pselect},
    {"epoll_wait", by_epoll_wait},
    {"epoll_pwait", by_epoll_pwait},
    {"epoll_pwait2", by_epoll_pwait2},
};

void put(int fd, std::string_view bytes) {
    ASSERT_EQ(::syscall(SYS_write, fd, bytes.data(), bytes.size()), static_cast<long>(bytes.size()));
}

void note_poll(notes& n, const way_to_poll& way, std::vector<pollfd> wanted, int ms) {
    n(way.name, way.call(wanted.data(), wanted.size(), ms));
    for (const auto& p : wanted) n("events", p.revents);
}

TEST(hooked_polls, of_what_is_ready) {
    expect_alike(in_fiber::go_on, [](notes& n) {
        const pair_of_descriptors ends(kind::unix_stream), pipe(kind::pipe);
        put(ends[1], "x");
        for (const auto& way : ways)
            for (const int ms : {-1, 0, 1000})
                note_poll(
                    n, way,
                    {{ends[0], POLLIN, 0}, {ends[1], POLLIN, 0}, {pipe[0], POLLIN, 0}, {pipe[1], POLLOUT, 0}, {-1, POLLIN, 0}},
                    ms);
    });
}

TEST(hooked_polls, that_do_not_wait) {
    expect_alike(in_fiber::go_on, [](notes& n) {
        const pair_of_descriptors ends(kind::unix_stream);
        for (const auto& way : ways) note_poll(n, way, {{ends[0], POLLIN, 0}}, 0);
        for (const auto& way : ways) note_poll(n, way, {}, 0);
    });
}

TEST(hooked_polls, of_what_comes) {
    for (const auto& way : ways) {
        SCOPED_TRACE(way.name);
        for (const int ms : {-1, 60'000})
            expect_alike(in_fiber::park, [&](notes& n) {
                const pair_of_descriptors ends(kind::unix_stream), other(kind::tcp), full(kind::pipe);
                full.fill(1);
                const std::vector<pollfd> wanted{{ends[0], POLLIN, 0}, {other[0], POLLIN, 0}, {full[1], POLLOUT, 0}};
                n.later([&] { put(other[1], "x"); });
                note_poll(n, way, wanted, ms);
                n.join();
                char c = 0;
                n("read", ::read(other[0], &c, 1));
                n.later([&] { drain(full[0], 65'536); });
                note_poll(n, way, {{ends[0], POLLIN, 0}, {full[1], POLLOUT, 0}}, ms);
                n.join();
            });
    }
}

TEST(hooked_polls, of_an_end_that_is_closed) {
    for (const auto& way : ways) {
        SCOPED_TRACE(way.name);
        expect_alike(in_fiber::park, [&](notes& n) {
            pair_of_descriptors ends(kind::unix_stream);
            n.later([&] { ends.close(1); });
            note_poll(n, way, {{ends[0], POLLIN, 0}}, -1);
            n.join();
        });
    }
}

TEST(hooked_polls, until_the_time_has_passed) {
    for (const auto& way : ways) {
        SCOPED_TRACE(way.name);
        expect_alike(in_fiber::park, [&](notes& n) {
            const pair_of_descriptors ends(kind::unix_stream);
            pollfd wanted{ends[0], POLLIN, 0};
            n.takes(30ms, way.name, [&] { return way.call(&wanted, 1, 30); });
            n.takes(30ms, way.name, [&] { return way.call(nullptr, 0, 30); });
        });
    }
    expect_alike(in_fiber::park, [](notes& n) {
        pollfd nobody{-5, POLLIN, 7};
        n.takes(30ms, "poll", [&] { return ::poll(&nobody, 1, 30); });
        n("events", nobody.revents);
    });
}

TEST(hooked_polls, of_64_and_of_100) {
    for (const std::size_t count : {std::size_t{64}, std::size_t{100}})
        for (const auto& way : ways) {
            SCOPED_TRACE(way.name);
            expect_alike(in_fiber::park, [&](notes& n) {
                std::vector<std::unique_ptr<pair_of_descriptors>> all;
                std::vector<pollfd> wanted;
                for (std::size_t i = 0; i < count; ++i) {
                    all.push_back(std::make_unique<pair_of_descriptors>(i % 2 ? kind::pipe : kind::unix_stream));
                    wanted.push_back({(*all.back())[0], POLLIN, 0});
                }
                n.later([&] { put((*all[count - 1])[1], "x"); });
                note_poll(n, way, wanted, -1);
                n.join();
            });
        }
}

TEST(hooked_polls, of_an_epoll) {
    for (const auto& way : ways) {
        SCOPED_TRACE(way.name);
        expect_alike(in_fiber::park, [&](notes& n) {
            const pair_of_descriptors ends(kind::unix_stream);
            const int inner = ::epoll_create1(EPOLL_CLOEXEC), outer = ::epoll_create1(EPOLL_CLOEXEC);
            epoll_event e{};
            e.events = EPOLLIN;
            ::epoll_ctl(inner, EPOLL_CTL_ADD, ends[0], &e);
            ::epoll_ctl(outer, EPOLL_CTL_ADD, inner, &e);
            n.later([&] { put(ends[1], "x"); });
            note_poll(n, way, {{outer, POLLIN, 0}}, -1);
            n.join();
            ::close(inner);
            ::close(outer);
        });
    }
}

TEST(hooked_polls, with_a_signal_mask_are_plain) {
    sigset_t none;
    ::sigemptyset(&none);
    expect_alike(in_fiber::block, [&](notes& n) {
        const timespec t = as_timespec(20);
        const pair_of_descriptors ends(kind::unix_stream);
        pollfd wanted{ends[0], POLLIN, 0};
        n.takes(20ms, "ppoll", [&] { return ::ppoll(&wanted, 1, &t, &none); });
        n.takes(20ms, "pselect", [&] { return ::pselect(0, nullptr, nullptr, nullptr, &t, &none); });
        epoll_event e;
        const int epoll = ::epoll_create1(EPOLL_CLOEXEC);
        n.takes(20ms, "epoll_pwait", [&] { return ::epoll_pwait(epoll, &e, 1, 20, &none); });
        n.takes(20ms, "epoll_pwait2", [&] { return ::epoll_pwait2(epoll, &e, 1, &t, &none); });
        ::close(epoll);
    });
}

TEST(hooked_polls, selects_tell_what_is_left_of_the_time) {
    expect_alike(in_fiber::park, [](notes& n) {
        const pair_of_descriptors ends(kind::unix_stream);
        fd_set in;
        FD_ZERO(&in);
        FD_SET(ends[0], &in);
        timeval limit{100, 0};
        n.later([&] { put(ends[1], "x"); });
        n("select", ::select(ends[0] + 1, &in, nullptr, nullptr, &limit));
        n.join();
        n("there is some left", limit.tv_sec > 50 && limit.tv_sec < 100);
        char c = 0;
        n("read", ::read(ends[0], &c, 1));
        limit = {0, 20'000};
        n("select", ::select(ends[0] + 1, &in, nullptr, nullptr, &limit));
        n("left", limit.tv_sec * 1'000'000 + limit.tv_usec);
        n("is cleared", FD_ISSET(ends[0], &in));
        limit = {0, 1'000'000 + 5};  // more microseconds than a second has
        FD_SET(ends[1], &in);
        fd_set out = in;
        n("select", ::select(ends[1] + 1, nullptr, &out, nullptr, &limit));
        n("left", limit.tv_sec >= 0 && limit.tv_usec < 1'000'000);
    });
}

// Sets that are larger than fd_set, and counts that are larger than the sets.
TEST(hooked_polls, SELECTING_1_selects_of_large_numbers) {
    rlimit old{};
    ::getrlimit(RLIMIT_NOFILE, &old);
    if (old.rlim_cur < 3000) {
        rlimit more{std::min<rlim_t>(old.rlim_max, 4096), old.rlim_max};
        ::setrlimit(RLIMIT_NOFILE, &more);
    }
    expect_alike(in_fiber::park, [](notes& n) {
        const pair_of_descriptors ends(kind::unix_stream);
        constexpr int large = 2500;
        ASSERT_EQ(::syscall(SYS_dup3, ends[0], large, O_CLOEXEC), large);
        std::vector<unsigned long> in((large + 64) / 64);
        const auto is_set = [&](int fd) { return (in[static_cast<std::size_t>(fd) / 64] >> (fd % 64) & 1) != 0; };
        in[large / 64] |= 1ul << (large % 64);
        n.later([&] { put(ends[1], "x"); });
        n("select", ::select(large + 1, reinterpret_cast<fd_set*>(in.data()), nullptr, nullptr, nullptr));
        n.join();
        n("is set", is_set(large));
        ::close(large);
        n("closed", ::select(large + 1, reinterpret_cast<fd_set*>(in.data()), nullptr, nullptr, nullptr));
        n("is as it was", is_set(large));
    });
    expect_alike(in_fiber::park, [](notes& n) {
        timeval limit{0, 20'000};
        n("select", ::select(unseen(1 << 30), nullptr, nullptr, nullptr, &limit));
    });
    ::setrlimit(RLIMIT_NOFILE, &old);
}

// The kernel's table may have fewer places, and then it does not see the number.
TEST(hooked_polls, selects_of_numbers_that_nobody_has) {
    expect_alike(in_fiber::anything, [](notes& n) {
        const pair_of_descriptors ends(kind::unix_stream);
        std::vector<pollfd> wanted{{1020, POLLIN, 0}, {ends[0], POLLIN, 0}};
        n("select", by_select(wanted.data(), wanted.size(), 20));
    });
}

TEST(hooked_polls, with_wrong_arguments) {
    expect_alike(in_fiber::go_on, [](notes& n) {
        const pair_of_descriptors ends(kind::unix_stream);
        for (const auto& way : ways) {
            if (std::string_view(way.name).find("epoll") != std::string_view::npos) continue;
            note_poll(n, way, {{60, POLLIN, 0}, {ends[0], POLLIN, 0}}, 10);
        }
        n("poll", ::poll(nowhere<pollfd>(), 1, 10));
        n("poll", ::poll(nullptr, unseen(nfds_t{1} << 30), 10));
        const timespec wrong{0, -1}, wrong_as_well{-1, 0}, too_many{0, 1'000'000'000};
        for (const auto* t : {&wrong, &wrong_as_well, &too_many}) {
            n("ppoll", ::ppoll(nullptr, 0, t, nullptr));
            n("pselect", ::pselect(0, nullptr, nullptr, nullptr, t, nullptr));
        }
        n("select", ::select(unseen(-1), nullptr, nullptr, nullptr, nullptr));
        n("pselect", ::pselect(unseen(-1), nullptr, nullptr, nullptr, nullptr, nullptr));
        timeval wrong_limit{-1, 0};
        n("select", ::select(0, nullptr, nullptr, nullptr, &wrong_limit));
        epoll_event e;
        const int epoll = ::epoll_create1(EPOLL_CLOEXEC);
        n("epoll_wait", ::epoll_wait(-1, &e, 1, 10));
        n("epoll_wait", ::epoll_wait(ends[0], &e, 1, 10));
        n("epoll_wait", ::epoll_wait(epoll, &e, 0, 10));
        n("epoll_wait", ::epoll_wait(epoll, nowhere<epoll_event>(), unseen(-1), 10));
        n("epoll_pwait", ::epoll_pwait(epoll, &e, 0, 10, nullptr));
        n("epoll_pwait2", ::epoll_pwait2(epoll, &e, 1, &wrong, nullptr));
        ::close(epoll);
    });
}

using hooked_polls_death = testing::Test;
TEST(hooked_polls_death, of_an_array_that_is_too_small) {
    pollfd p[2] = {};
    EXPECT_DEATH(::__poll_chk(p, 2, 0, sizeof(pollfd)), "");
}

}  // namespace
}  // namespace weft::test
