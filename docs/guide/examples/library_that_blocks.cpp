// library_that_blocks.cpp - code that was written for threads, and blocks in read(), in 200 fibers on one worker.
#include <weft/weft.hpp>

#include <sys/socket.h>
#include <unistd.h>

#include <iostream>
#include <mutex>

// As a client library does it: asks, and blocks until the answer is there.
int ask(int connection, int question) {
    int answer = 0;
    if (::write(connection, &question, sizeof question) != sizeof question) return -1;
    return ::read(connection, &answer, sizeof answer) == sizeof answer ? answer : -1;
}

// A server of the same kind, which takes its time.
void serve(int connection) {
    int question = 0;
    while (::read(connection, &question, sizeof question) == sizeof question) {
        ::usleep(10'000);
        const int answer = 2 * question;
        if (::write(connection, &answer, sizeof answer) != sizeof answer) break;
    }
    ::close(connection);
}

int main() {
    std::mutex lock;
    int right = 0;

    weft::runtime rt({.workers = 1, .hooks = true});
    rt.run([&] {
        weft::with_scope([&](weft::scope& s) {
            for (int i = 0; i < 100; ++i) {
                int ends[2];
                if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return;
                s.spawn({.as_thread = true}, [end = ends[0]] { serve(end); });
                s.spawn({.as_thread = true}, [&, end = ends[1], i] {
                    const int answer = ask(end, i);
                    const std::lock_guard guard(lock);
                    if (answer == 2 * i) ++right;
                    ::close(end);
                });
            }
        });
    });
    std::cout << right << " right answers\n";
}
