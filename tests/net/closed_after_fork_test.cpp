// closed_after_fork_test.cpp - a connection that is closed is no longer watched, even if a forked child keeps its file open.
#include <gtest/gtest.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>

#include <weft/net/tcp.hpp>
#include <weft/weft.hpp>

#include "no_leaks.hpp"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

/// How many descriptors all epoll instances of this process watch.
int watched_descriptors() {
    int n = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fdinfo")) {
        std::ifstream info(entry.path());
        for (std::string line; std::getline(info, line);) n += line.starts_with("tfd:");
    }
    return n;
}

class closed_streams_forks : public no_leaks {};

TEST_F(closed_streams_forks, SOURCE_7_are_not_watched_whether_a_child_has_them_or_not) {
    watched_runtime rt(1);
    rt.run([] {
        tcp::listener at({.host = "127.0.0.1", .port = 0});
        for (const bool forks : {false, true}) {
            auto peer = tcp::stream::connect(at.local());
            auto here = at.accept();
            peer.write_all("x");
            here.wait_readable();
            std::array<std::byte, 8> bytes;
            EXPECT_EQ(here.read_some(bytes), 1u);
            try {
                with_timeout(1ms, [&] { here.wait_readable(); });  // from here on it is watched
            } catch (const timeout_error&) {}
            const int before = watched_descriptors();
            const pid_t child = forks ? ::fork() : -1;
            if (child == 0)
                for (;;) ::pause();
            here.close();
            EXPECT_EQ(watched_descriptors(), before - 1) << forks;
            if (child > 0) {
                ::kill(child, SIGKILL);
                ::waitpid(child, nullptr, 0);
            }
        }
    });
}

}  // namespace
}  // namespace weft::test
