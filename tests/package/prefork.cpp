// prefork.cpp - an outside user of weft::prefork: a master without ports whose worker asks it to end.
#include <weft/prefork.hpp>

#include <unistd.h>
#include <csignal>

int main(int argc, char** argv) {
    return weft::prefork::run(argc, argv, {.processes = 1}, [](weft::prefork::worker& w) {
        w.ready();
        ::kill(::getppid(), SIGTERM);
        w.wait_for_stop();
    });
}
