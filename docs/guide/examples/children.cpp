// children.cpp - a child process as an object: fed, read and waited for by fibers; and a fork, whose child begins anew.
#include <weft/weft.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <iostream>
#include <string>

std::string all_of(weft::io::pipe_reader& from) {
    std::string text;
    std::array<std::byte, 512> piece;
    while (const auto n = from.read_some(piece)) text.append(reinterpret_cast<const char*>(piece.data()), n);
    return text;
}

int main() {
    using weft::io::redirect;
    weft::run([] {
        weft::io::process upper({"tr", "a-z", "A-Z"}, {.in = redirect::pipe, .out = redirect::pipe});
        auto answer = weft::spawn([&] { return all_of(upper.out()); });
        upper.in().write_all("said by a child\n");
        upper.in().close();
        std::cout << answer.join() << "it ended with " << upper.wait().code << '\n';
    });

    weft::runtime rt;
    rt.run([] {
        const pid_t child = fork();
        if (child == 0) {  // one thread, no runtime
            const int sum = weft::run([] { return weft::spawn([] { return 40; }).join() + 2; });
            _exit(sum);
        }
        const int status = weft::blocking([=] {
            int s = 0;
            waitpid(child, &s, 0);
            return s;
        });
        std::cout << "the forked one with " << WEXITSTATUS(status) << '\n';
    });
}
