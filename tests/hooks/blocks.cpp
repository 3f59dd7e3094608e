// blocks.cpp - what the audit has to name: a fiber that blocks in a call that no hook sees, while another one
// wants the worker; and, as `blocks retries`, one that is to stop and calls again and again.
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <thread>

#include <weft/fiber.hpp>
#include <weft/runtime.hpp>
#include <weft/scope.hpp>

using namespace std::chrono_literals;

extern "C" __attribute__((noinline, visibility("default"))) long blocks_past_the_hooks(int fd) {
    char byte = 0;
    const long n = ::syscall(SYS_read, fd, &byte, 1);
    asm volatile("");  // it returns here, and is no tail call
    return n;
}

extern "C" __attribute__((noinline, visibility("default"))) int blocks_in_the_hooks() {
    const timespec t{0, 200'000'000};
    return ::clock_nanosleep(CLOCK_BOOTTIME, 0, &t, nullptr);  // of a clock that hooks leave alone
}

extern "C" __attribute__((noinline, visibility("default"))) int retries_for_long(int fd) {
    char byte = 0;
    int n = 0;
    for (; n < 2'500 && ::read(fd, &byte, 1) < 0 && errno == ECANCELED; ++n) continue;
    return n;
}

int retry() {
    int ends[2];
    if (::pipe(ends) != 0) return 1;
    weft::runtime rt({.workers = 1});
    rt.run([&] {
        auto f = weft::spawn({.as_thread = true}, [&] { std::printf("%d\n", retries_for_long(ends[0])); });
        weft::this_fiber::sleep_for(1ms);
        f.request_stop();
        f.join();
    });
    return 0;
}

int main(int argc, char**) {
    if (argc > 1) return retry();
    constexpr int calls = 3;
    int ends[2];
    if (::pipe(ends) != 0) return 1;
    std::atomic<int> asked{0};
    // What a call waits for comes long after the monitor must have seen it.
    std::thread writer([&] {
        for (int i = 0; i < calls; ++i) {
            for (int seen; (seen = asked.load()) <= i;) asked.wait(seen);
            std::this_thread::sleep_for(200ms);
            if (::write(ends[1], "x", 1) != 1) return;
        }
    });
    weft::runtime rt({.workers = 1, .on_hog = [](const weft::hog_report&) {}});
    rt.run([&] {
        std::atomic<bool> is_over{false};
        weft::with_scope([&](weft::scope& s) {
            s.spawn([&] {
                while (!is_over) weft::this_fiber::sleep_for(1ms);
            });
            for (int i = 0; i < calls; ++i) {
                weft::this_fiber::sleep_for(1ms);
                asked.fetch_add(1);
                asked.notify_one();
                if (blocks_past_the_hooks(ends[0]) != 1) break;
            }
            s.spawn({.as_thread = true}, [] { static_cast<void>(blocks_in_the_hooks()); }).join();
            is_over = true;
        });
    });
    writer.join();
    std::printf("%d\n", calls);
}
