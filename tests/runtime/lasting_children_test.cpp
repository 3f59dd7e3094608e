// A child of a test outlives the thread that its fiber ran on.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <weft/weft.hpp>

#include "support/lasting_children.hpp"

using namespace std::chrono_literals;

TEST(lasting_children, stay_when_their_fiber_loses_its_worker_and_the_thread_ends) {
    // The thread of a preempted fiber becomes a spare, and one too many ends after 200 slices.
    weft::runtime rt({.workers = 1, .time_slice = 1ms});
    rt.run([] {
        const auto compute_for = [](auto time) {
            for (const auto until = weft::now() + time; weft::now() < until;) continue;
        };
        std::vector<weft::fiber<pid_t>> starters;
        for (int i = 0; i < 4; ++i)
            starters.push_back(weft::spawn([&] {
                compute_for(30ms);
                const auto child = weft::test::start_child({"sleep", "1000"});
                compute_for(60ms);
                return child;
            }));
        std::vector<pid_t> children;
        for (auto& f : starters) children.push_back(f.join());
        weft::this_fiber::sleep_for(1s);
        for (const auto child : children) {
            EXPECT_EQ(::waitpid(child, nullptr, WNOHANG), 0);
            ::kill(child, SIGKILL);
            EXPECT_EQ(::waitpid(child, nullptr, 0), child);
        }
    });
}
