// tcp_beside_hogs_test.cpp - an event loop in each worker, stealing and preemption together: I/O goes on though more fibers compute than there
// are workers.
#include <gtest/gtest.h>

#include "tcp_fixture.hpp"

namespace weft::test {
namespace {

class tcp_beside_hogs : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(workers, tcp_beside_hogs, testing::Values(1u, 2u, 4u));

TEST_P(tcp_beside_hogs, seed_R11_round_trips_go_on) {
    runtime rt({.workers = GetParam(), .time_slice = 2ms, .on_hog = [](const hog_report&) {}});
    std::atomic<bool> over{false};
    std::atomic<unsigned> begun{0};
    std::vector<fiber<>> hogs;
    for (unsigned i = 0; i < GetParam() + 2; ++i)
        hogs.push_back(rt.spawn([&] {
            ++begun;
            while (!over.load(std::memory_order_relaxed)) {}  // it ends a loop
        }));
    while (begun < GetParam() + 2) std::this_thread::sleep_for(1ms);  // more than there are workers: some have lost theirs
    rt.run([] {
        auto l = local_listener();
        with_scope([&](scope& s) {
            for (int c = 0; c < 8; ++c)
                s.spawn([&] {
                    auto near = tcp::stream::connect(l.local());
                    std::array<std::byte, 1> byte{};
                    for (int i = 0; i < 25; ++i) {
                        near.write_all(byte);
                        ASSERT_EQ(near.read_some(byte), 1u);
                    }
                });
            for (int c = 0; c < 8; ++c)
                s.spawn([far = l.accept()]() mutable {
                    std::array<std::byte, 1> byte;
                    while (far.read_some(byte) == 1) far.write_all(byte);
                });
        });
    });
    EXPECT_GE(rt.stats().hand_offs, 2u);
    over = true;  // only now: the others came to their turn beside them
    for (auto& h : hogs) h.join();
}

}  // namespace
}  // namespace weft::test
