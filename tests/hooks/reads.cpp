// reads.cpp - a program without libweft_hooks.so: fibers that are threads read the standard input to its end.
#include <unistd.h>

#include <cstdio>

#include <weft/fiber.hpp>
#include <weft/hooks.hpp>
#include <weft/runtime.hpp>
#include <weft/scope.hpp>

extern "C" __attribute__((noinline, visibility("default"))) long reads_to_the_end(int fd) {
    char byte = 0;
    long n = 0;
    while (::read(fd, &byte, 1) == 1) ++n;
    return n;
}

int main() {
    weft::runtime rt({.workers = 1});  // WEFT_HOOKS=1 is what asks for hooks
    rt.run([] {
        weft::with_scope([](weft::scope& s) {
            s.spawn({.name = "reader", .as_thread = true}, [] { std::printf("read %ld\n", reads_to_the_end(STDIN_FILENO)); });
            s.spawn([] {
                std::printf("%s\n", weft::hooks::active() ? "hooked" : "plain");
                std::fflush(stdout);
            });
        });
    });
}
