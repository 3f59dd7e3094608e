// as_started.cpp - every test program begins with the signals of one that a shell has started. Its parent may ignore or block some, as nohup,
// schedulers of jobs and other people's programs do, and children inherit that.
#include <signal.h>

namespace {

/// Hang-ups and what a keyboard sends stay as they are: who runs the tests in the background may want that.
[[gnu::constructor]] void begin_as_from_a_shell() {
    for (int signal = 1; signal < SIGSYS; ++signal) {
        struct sigaction now {};
        if (signal == SIGHUP || signal == SIGINT || signal == SIGQUIT) continue;
        if (::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN) ::signal(signal, SIG_DFL);
    }
    sigset_t none;
    ::sigemptyset(&none);
    ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
}

}  // namespace

extern "C" void weft_test_as_started();  // asked for by the linker, which would leave this file in its archive
extern "C" void weft_test_as_started() {}
