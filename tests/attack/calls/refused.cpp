// refused.cpp - the small program while the kernel refuses one system call, always with the same error.
//
// attack_refused --list             the calls and the errors that are tried, one a line
// attack_refused CALL ERROR         prints each part that failed and why; 0: all were right, 1: one line or more, 4: a wrong result
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iterator>
#include <string_view>

#include "attack/calls/small_program.hpp"
#include "hazards/support/refusal.hpp"

namespace weft::attack {
namespace {

struct named_number {
    const char* name;
    long number;
};

// What weft asks the system for, and what libc asks on its behalf, while a program runs. Left out are calls without which no
// thread lives (futex, exit), munmap, whose failure glibc answers by abort(), and those that only pass bytes on.
const named_number calls[] = {
#define WEFT_ATTACK_CALL(name)                                                                                                   \
    { #name, SYS_##name }
    WEFT_ATTACK_CALL(accept4),
    WEFT_ATTACK_CALL(bind),
    WEFT_ATTACK_CALL(clock_nanosleep),
    WEFT_ATTACK_CALL(clone3),
    WEFT_ATTACK_CALL(close),
    WEFT_ATTACK_CALL(connect),
    WEFT_ATTACK_CALL(epoll_create1),
    WEFT_ATTACK_CALL(epoll_ctl),
    {"epoll_pwait2", 441},
    WEFT_ATTACK_CALL(eventfd2),
    WEFT_ATTACK_CALL(fcntl),
    WEFT_ATTACK_CALL(getcpu),
    WEFT_ATTACK_CALL(getrandom),
    WEFT_ATTACK_CALL(getsockname),
    WEFT_ATTACK_CALL(getsockopt),
    WEFT_ATTACK_CALL(listen),
    WEFT_ATTACK_CALL(madvise),
    WEFT_ATTACK_CALL(membarrier),
    WEFT_ATTACK_CALL(mincore),
    WEFT_ATTACK_CALL(mmap),
    WEFT_ATTACK_CALL(mprotect),
    WEFT_ATTACK_CALL(perf_event_open),
    WEFT_ATTACK_CALL(process_madvise),
    WEFT_ATTACK_CALL(pidfd_open),
    WEFT_ATTACK_CALL(pipe2),
    WEFT_ATTACK_CALL(prctl),
    WEFT_ATTACK_CALL(rt_sigaction),
    WEFT_ATTACK_CALL(rt_sigprocmask),
    WEFT_ATTACK_CALL(sched_getaffinity),
    WEFT_ATTACK_CALL(sched_setaffinity),
    WEFT_ATTACK_CALL(sched_setattr),
    WEFT_ATTACK_CALL(setsockopt),
    WEFT_ATTACK_CALL(sigaltstack),
    WEFT_ATTACK_CALL(socket),
    WEFT_ATTACK_CALL(timerfd_create),
    WEFT_ATTACK_CALL(timerfd_settime),
    WEFT_ATTACK_CALL(waitid),
#undef WEFT_ATTACK_CALL
};
static_assert(std::size(calls) == 37);

const named_number errors[] = {{"EPERM", EPERM},   {"ENOSYS", ENOSYS}, {"EACCES", EACCES}, {"EINVAL", EINVAL},
                               {"ENOMEM", ENOMEM}, {"EAGAIN", EAGAIN}, {"EBUSY", EBUSY}};

template <std::size_t N>
const named_number* find(const named_number (&among)[N], std::string_view name) {
    for (const auto& each : among)
        if (name == each.name) return &each;
    return nullptr;
}

int list() {
    for (const auto& call : calls)
        for (const auto& error : errors) std::printf("%s %s\n", call.name, error.name);
    return 0;
}

int run_without(const named_number& call, const named_number& error) {
    test::refuse({call.number}, static_cast<int>(error.number));
    try {
        return run_small_program();
    } catch (const std::exception& e) {
        std::printf("runtime: %s\n", e.what());
        return 1;
    }
}

}  // namespace
}  // namespace weft::attack

int main(int argc, char** argv) {
    using namespace weft::attack;
    std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
    if (argc == 2 && argv[1] == std::string_view("--list")) return list();
    if (argc == 2 && argv[1] == std::string_view("--none")) return run_small_program();
    const auto* call = argc == 3 ? find(calls, argv[1]) : nullptr;
    const auto* error = argc == 3 ? find(errors, argv[2]) : nullptr;
    if (call == nullptr || error == nullptr) {
        std::fputs("attack_refused: usage: attack_refused --list | --none | CALL ERROR\n", stderr);
        return 2;
    }
    return run_without(*call, *error);
}
