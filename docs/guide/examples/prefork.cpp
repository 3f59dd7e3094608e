// prefork.cpp - processes, threads and fibers in one program: two processes that share a port and no memory, each with fibers of its own.
#include <sys/wait.h>
#include <unistd.h>

#include <weft/weft.hpp>

#include <array>
#include <iostream>
#include <set>
#include <span>
#include <string>

/// Answers one connection with its number, from whatever process it is called in.
void serve_once(weft::tcp::listener& listener) {
    weft::run([&] {
        weft::with_scope([&](weft::scope& connections) {
            connections.spawn([peer = listener.accept()]() mutable { peer.write_all(std::to_string(::getpid())); });
        });
    });
}

std::string ask(const weft::tcp::listener& listener) {  // on a plain thread, which needs no runtime
    auto s = weft::tcp::stream::connect(listener.local());
    std::array<std::byte, 32> reply;
    std::string text;
    while (const std::size_t n = s.read_some(reply)) text.append(reinterpret_cast<const char*>(reply.data()), n);
    return text;
}

int main() {
    weft::tcp::listener listener({.host = "127.0.0.1", .port = 0});  // before the fork, which the runtimes come after
    for (int i = 0; i < 2; ++i)
        if (::fork() == 0) {
            serve_once(listener);
            ::_exit(0);
        }
    const std::set<std::string> answers{ask(listener), ask(listener)};
    while (::wait(nullptr) > 0) {}
    std::cout << "two connections, " << answers.size() << " processes\n";
}
