// sleeping_test.cpp - sleeps and look-ups of names, on a thread and in fibers.
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

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
            timespec until{};
            n.takes(20ms, "until", [&] {
                until = from_now(clock, 20ms);
                return ::clock_nanosleep(clock, TIMER_ABSTIME, &until, nullptr);
            });
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

TEST(hooked_look_ups, of_addresses_in_digits_do_not_wait) {
    expect_alike(in_fiber::go_on, [](notes& n) {
        for (const char* const node : {"127.0.0.1", "::1", "::ffff:127.0.0.1", "fe80::1%lo"})
            for (const char* const service : {"80", static_cast<const char*>(nullptr)}) {
                addrinfo hints{}, *found = nullptr;
                hints.ai_socktype = SOCK_STREAM;
                n(node, ::getaddrinfo(node, service, &hints, &found));
                for (const auto* a = found; a; a = a->ai_next)
                    n.data("address", {reinterpret_cast<const char*>(a->ai_addr), a->ai_addrlen});
                if (found) ::freeaddrinfo(found);
            }
    });
    expect_alike(in_fiber::park, [](notes& n) {  // the name of a service stands in a file
        addrinfo hints{}, *found = nullptr;
        hints.ai_socktype = SOCK_STREAM;
        n("no service", ::getaddrinfo("127.0.0.1", "no such service", &hints, &found));
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

}  // namespace
}  // namespace weft::test
