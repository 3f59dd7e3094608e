// own_calls.cpp - uses all of the core beneath functions that stand before the C library's, and shows that weft's own calls go around (DIRECT-1).
//
// Built twice. With weft as a shared library it knows who calls: nothing in libweft.so may, and the calls planted in libplanted.so must be
// noted, or it would find nothing at all. With weft inside, it knows when: nobody may call in the midst of a visit to the scheduler, the C++
// library on weft's behalf neither; a visit that is planted shows that it would be found.
//
// What it cannot see, a call at the end of a function that the compiler turned into a jump, and a path that no step takes, scripts/check_calls can.
#include <weft/weft.hpp>

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>

#include "hooks/planted.hpp"
#include "hooks/stand_before.h"
#if WEFT_INSIDE
#include "sched/carrier.hpp"
#endif

namespace {

using namespace std::chrono_literals;

int failures = 0;

void expect(bool fact, const std::string& what) {
    std::printf("%s%s\n", fact ? "ok      " : "FAILED  ", what.c_str());
    if (!fact) ++failures;
}

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

template <class Stream>
std::string rest_of(Stream& from) {
    std::string text;
    std::array<std::byte, 512> piece;
    while (const auto n = from.read_some(piece)) text.append(reinterpret_cast<const char*>(piece.data()), n);
    return text;
}

/// A connection by name, whose look-up runs on another thread, and one by address, each over an echo that relays inside the kernel.
void talk_over_tcp() {
    weft::tcp::listener listener({.host = "localhost", .port = 0});
    const auto port = listener.local().port;
    weft::with_scope([&](weft::scope& s) {
        s.spawn([&] {
            for (int n = 0; n < 2; ++n) {
                auto peer = listener.accept();
                weft::io::copy(peer, peer);
                peer.shutdown_send();
            }
        });
        for (const auto& host : {std::string("localhost"), listener.local().host}) {
            auto client = weft::tcp::stream::connect({.host = host, .port = port});
            const std::string text(200'000, 'x');
            auto writer = s.spawn([&] {
                client.write_all(bytes_of(text));
                client.shutdown_send();
            });
            client.wait_readable();
            expect(rest_of(client) == text, "an echo over TCP, to " + host);
            writer.join();
        }
    });
}

void use_pipes_and_descriptors() {
    weft::io::pipe p;
    auto got = weft::spawn([&] { return rest_of(p.reader); });
    p.writer.write_all(bytes_of("through a pipe"));
    p.writer.close();
    expect(got.join() == "through a pipe", "a pipe");

    int ends[2];
    if (::pipe(ends) != 0) std::abort();
    auto from = weft::io::descriptor::borrow(ends[0]);
    auto to = weft::io::descriptor::adopt(ends[1]);
    auto other = weft::spawn([&] { return rest_of(from); });
    to.write_some(bytes_of("blocking at one end"));
    to.close();
    expect(other.join() == "blocking at one end", "descriptors, adopted and borrowed");
    from.close();
    ::close(ends[0]);
}

void use_processes_and_signals() {
    using words = std::vector<std::string>;
    weft::io::process child(words{"cat"}, {.in = weft::io::redirect::pipe, .out = weft::io::redirect::pipe});
    child.in().write_all(bytes_of("to a child and back"));
    child.in().close();
    expect(rest_of(child.out()) == "to a child and back" && child.wait().success(), "a process");

    weft::io::signals s({SIGUSR1});
    auto waiting = weft::spawn([&] { return s.wait(); });
    weft::this_fiber::yield();
    ::kill(::getpid(), SIGUSR1);
    expect(waiting.join() == SIGUSR1, "a signal");
}

void use_fibers() {
    weft::channel<int> numbers(4);
    weft::mutex lock;
    weft::condition_variable changed;
    int sum = 0;
    weft::with_scope([&](weft::scope& s) {
        for (int i = 0; i < 2000; ++i) s.spawn([&, i] { numbers.send(i); });
        for (int i = 0; i < 4; ++i)
            s.spawn([&] {
                for (int n = 0; n < 500; ++n) {
                    const int got = *numbers.receive();
                    std::unique_lock held(lock);
                    sum += got;
                    changed.notify_all();
                }
            });
        std::unique_lock held(lock);
        changed.wait(held, [&] { return sum == 1999 * 1000; });
    });
    expect(sum == 1999 * 1000, "scopes, channels, mutexes");
    bool timed_out = false;
    try {
        weft::with_timeout(2ms, [] { weft::this_fiber::sleep_for(1h); });
    } catch (const weft::timeout_error&) { timed_out = true; }
    expect(timed_out, "sleeps and deadlines");
    // a stack of its own, and what frees it
    weft::spawn({.stack_bytes = 1 << 20}, [] {}).join();
}

void use_threads() {
    expect(weft::blocking([] { return 7; }) == 7, "a call on another thread");
    weft::channel<int> from_outside;
    std::jthread outside([&] {
        for (int i = 0; i < 100; ++i) from_outside.send(i);
        from_outside.close();
    });
    int n = 0;
    while (from_outside.receive()) ++n;
    expect(n == 100, "a plain thread that sends");

}

/// A fiber blocks the thread of the only worker, so another thread has to take the worker for the fiber behind it.
void lose_the_worker() {
    const auto lost = [] { return weft::runtime::current()->stats().hand_offs; };
    const auto before = lost();
    for (int tries = 0; tries < 50 && lost() == before; ++tries) {
        auto blocks = weft::spawn([] { ::usleep(50'000); });
        auto waits = weft::spawn([] {});
        blocks.join();
        waits.join();
    }
    expect(lost() > before, "hand-offs");
}

void use_dumps() {
    std::ostringstream text;
    weft::dump(text);
    weft::dump(text, {.format = weft::dump_format::json});
    expect(text.str().find("fiber") != std::string::npos, "a dump");
}

std::vector<noted_call> all_calls() {
    std::vector<noted_call> all(noted_calls(nullptr, 0) + 64);
    all.resize(std::min(all.size(), noted_calls(all.data(), all.size())));
    return all;
}

std::string file_of(const noted_call& c) {
    Dl_info found;
    return ::dladdr(c.from, &found) != 0 && found.dli_fname ? std::filesystem::path(found.dli_fname).filename().string() : "?";
}

std::string place_of(const noted_call& c) {
    Dl_info found;
    std::ostringstream text;
    text << c.function << " by " << file_of(c);
    if (::dladdr(c.from, &found) != 0) text << " + 0x" << std::hex << static_cast<char*>(c.from) - static_cast<char*>(found.dli_fbase);
    return text.str();
}

/// What a function of a library whose name begins so has called.
std::multiset<std::string> called_by(std::string_view library) {
    std::multiset<std::string> names;
    for (const auto& c : all_calls())
        if (file_of(c).starts_with(library)) names.insert(c.function);
    return names;
}

[[maybe_unused]] void check_who_called() {
    // look_up() runs on a thread of the blocking pool.
    std::multiset<std::string> mine = called_by("libweft");
    expect(mine.erase("getaddrinfo") == 1, "the look-up of a name is seen");
    for (const auto& c : all_calls())
        if (file_of(c).starts_with("libweft") && mine.contains(c.function)) std::printf("        %s\n", place_of(c).c_str());
    expect(mine.empty(), "nothing else in libweft.so has called what hooks stand before");

    int ends[2];
    if (::pipe(ends) != 0 || ::write(ends[1], "x", 1) != 1) std::abort();
    planted::call_what_is_interposed(ends[0]);
    ::close(ends[1]);
    const auto planted = called_by("libplanted");
    for (const char* const name : {"read", "pthread_mutex_lock", "pthread_mutex_unlock", "usleep", "close"})
        expect(planted.contains(name), std::string(name) + "() that is planted in a library is found");
}

#if WEFT_INSIDE
int is_inside() {
    auto* const c = weft::detail::this_carrier();
    return c && c->is_inside() ? 1 : 0;
}

unsigned calls_in_visits() {
    unsigned n = 0;
    for (const auto& c : all_calls())
        if (c.in_a_visit != 0) {
            std::printf("        %s, in a visit\n", place_of(c).c_str());
            n += c.in_a_visit;
        }
    return n;
}

void plant_a_call_in_a_visit() {
    const weft::detail::carrier::visit planted(*weft::detail::this_carrier());
    ::usleep(1);
}
#endif

}  // namespace

int main() {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
#if WEFT_INSIDE
    is_in_a_visit = is_inside;
#endif
    for (const unsigned workers : {1U, 4U}) {
        weft::runtime rt({.workers = workers, .time_slice = 1ms, .dump_signal = SIGUSR2});
        rt.run([&] {
            use_fibers();
            talk_over_tcp();
            use_pipes_and_descriptors();
            use_processes_and_signals();
            use_threads();
            if (workers == 1) lose_the_worker();
            use_dumps();
        });
    }
#if WEFT_INSIDE
    expect(calls_in_visits() == 0, "nobody has called what hooks stand before in a visit to the scheduler");
    weft::run([] { plant_a_call_in_a_visit(); });
    expect(calls_in_visits() > 0, "a call that is planted in a visit is found");
#else
    check_who_called();
#endif
    return failures != 0 ? 1 : 0;
}
