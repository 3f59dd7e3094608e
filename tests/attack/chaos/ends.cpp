// ends.cpp - exit() and its relatives, fork() and exec(), from a thread, a fiber, a blocking call, a coroutine and a hog.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "attack/chaos/disturbance.hpp"

using namespace std::chrono_literals;

namespace weft::attack {
namespace {

/// The code a child ended with, or 100 and its signal.
int code_of(pid_t child) {
    int status = 0;
    while (::waitpid(child, &status, 0) < 0) {}
    return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

/// A child that starts a runtime of its own and ends with end_code if that works.
pid_t fork_with_runtime() {
    const pid_t child = ::fork();
    if (child != 0) return child;
    int result = 0;
    run([&] { result = spawn([] { return this_fiber::sleep_for(1ms), end_code; }).join(); }, {.workers = 2});
    ::_exit(result);
}

pid_t fork_and_exec() {
    const pid_t child = ::fork();
    if (child != 0) return child;
    ::execl("/bin/sh", "sh", "-c", "exit 7", nullptr);
    ::_exit(98);
}

void end_with_child(pid_t (*make)()) {
    const pid_t child = make();
    ::_exit(blocking([child] { return code_of(child); }));
}

struct end {
    const char* name;
    void (*begin)(runtime&);
};

const end ends[end_count] = {
    {"exit() in a thread", [](runtime&) { std::exit(end_code); }},
    {"exit() in a fiber", [](runtime& rt) { rt.spawn_detached([] { std::exit(end_code); }); }},
    {"quick_exit()", [](runtime&) { std::quick_exit(end_code); }},
    {"_exit()", [](runtime&) { ::_exit(end_code); }},
    {"exit() in a blocking call", [](runtime& rt) { rt.spawn_detached([] { blocking([] { std::exit(end_code); }); }); }},
    {"fork() in a fiber, a runtime in the child",
     [](runtime& rt) { rt.spawn_detached([] { end_with_child(fork_with_runtime); }); }},
    {"fork() in a thread, a runtime in the child", [](runtime&) { ::_exit(code_of(fork_with_runtime())); }},
    {"fork() and exec() in a fiber", [](runtime& rt) { rt.spawn_detached([] { end_with_child(fork_and_exec); }); }},
    {"exit() in a coroutine on a small stack",
     [](runtime& rt) {
         rt.spawn_detached({.stack_bytes = 64 * 1024}, [] {
             coroutine<> inner([] { std::exit(end_code); });
             inner.call();
         });
     }},
};

}  // namespace

void end_soon(runtime& rt, int way, std::chrono::microseconds in) {
    std::thread([&rt, way, in] {
        std::this_thread::sleep_for(in);
        ends[way].begin(rt);
    }).detach();
}

const char* name_of_end(int way) { return ends[way].name; }

}  // namespace weft::attack
