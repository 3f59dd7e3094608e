// processes_test.cpp - several processes that each run fibers, forked before there was a runtime:
// one that dies takes no other with it, and all serve one port.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hazards/support/forked.hpp"

namespace weft::test {
namespace {

#if !WEFT_UNDER_TSAN  // children that start threads

/// Two fibers pass a number to and fro, until the other end of `go` is closed in all processes, and
/// then on for a while. Says by a byte that they have begun.
void play_until_told(io::pipe& go, io::pipe& begun) {
    go.writer.close();
    weft::run(
        [&] {
            channel<int> there, back;
            std::atomic<bool> told{false};
            auto listens = spawn([&] {
                std::array<std::byte, 1> none;
                WEFT_CHILD_MUST(go.reader.read_some(none) == 0);
                told = true;
            });
            auto partner = spawn([&] {
                for (const int n : there) back.send(n + 1);
            });
            int number = 0, rounds = 0;
            const auto round = [&] {
                there.send(number);
                number = back.receive().value();
                ++rounds;
            };
            for (int i = 0; i < 100; ++i) round();
            begun.writer.write_all(std::string_view("x"));
            while (!told) round();
            for (int i = 0; i < 100; ++i) round();
            there.close();
            partner.join();
            listens.join();
            WEFT_CHILD_MUST(number == rounds);
        },
        {.workers = 2});
}

TEST(early_forks, seed_D18_a_process_that_is_killed_takes_no_other_with_it) {
    io::pipe go, begun;
    std::vector<pid_t> children;
    for (int i = 0; i < 3; ++i) children.push_back(start_child([&] { play_until_told(go, begun); }));
    begun.writer.close();
    std::array<std::byte, 3> bytes;
    io::read_exact(begun.reader, bytes);
    ASSERT_EQ(::kill(children[1], SIGKILL), 0);
    EXPECT_EQ(end_of(children[1]), 128 + SIGKILL);
    go.writer.close();
    EXPECT_EQ(end_of(children[0]), 0);
    EXPECT_EQ(end_of(children[2]), 0);
}

/// Answers so many connections with the number of this process, a fiber for each, all at once.
void serve(tcp::listener& listener, int connections) {
    weft::run(
        [&] {
            with_scope([&](scope& s) {
                for (int i = 0; i < connections; ++i)
                    s.spawn([peer = listener.accept()]() mutable {
                        std::array<std::byte, 1> question;
                        peer.read_exact(question);
                        peer.write_all(std::to_string(::getpid()));
                    });
            });
        },
        {.workers = 2});
}

std::string rest_of(tcp::stream& s) {
    std::array<char, 32> piece;
    std::string text;
    while (const std::size_t n = s.read_some(std::as_writable_bytes(std::span(piece)))) text.append(piece.data(), n);
    return text;
}

TEST(early_forks, seed_N10_forked_workers_share_a_port_and_each_serves_many) {
    constexpr int processes = 4, each = 8;
    tcp::listener listener({.host = "127.0.0.1", .port = 0});
    std::vector<pid_t> children;
    for (int i = 0; i < processes; ++i) children.push_back(start_child([&] { serve(listener, each); }));
    std::vector<tcp::stream> clients;  // of a plain thread
    for (int i = 0; i < processes * each; ++i) clients.push_back(tcp::stream::connect(listener.local()));
    listener.close();
    std::map<std::string, int> served_by;
    for (auto& c : clients) c.write_all(std::string_view("?"));
    for (auto& c : clients) ++served_by[rest_of(c)];
    for (const pid_t child : children) {
        EXPECT_EQ(end_of(child), 0);
        EXPECT_EQ(served_by[std::to_string(child)], each);
    }
}

#endif

}  // namespace
}  // namespace weft::test
