// channel_many_test.cpp - a value that is sent several times at once goes as if it was sent one by one.
#include <weft/channel.hpp>

#include <gtest/gtest.h>

#include <vector>

#include <weft/fiber.hpp>
#include <weft/runtime.hpp>

#include "sync/channel_core.hpp"

namespace {

using namespace weft::detail;
using weft::channel_op;

channel_op send_many(const weft::channel<char>& to, std::size_t& count) {
    char value = 'a';
    return channel_try_send_many(channel_access::ref(to).core(), &value, count);
}

TEST(channel_many, it_says_how_many_did_not_fit) {
    for (const std::size_t capacity : {std::size_t{5}, std::size_t{300'000}}) {  // a ring, and nodes
        const weft::channel<char> c(capacity);
        std::size_t count = capacity - 2;
        EXPECT_EQ(send_many(c, count), channel_op::done);
        EXPECT_EQ(count, 0u);
        count = 7;
        EXPECT_EQ(send_many(c, count), channel_op::full);
        EXPECT_EQ(count, 5u);
        EXPECT_EQ(c.size(), capacity);
        c.close();
        static_cast<void>(c.try_receive());
        EXPECT_EQ(send_many(c, count), channel_op::closed);
        EXPECT_EQ(count, 5u);
    }
}

TEST(channel_many, CHANNEL_CORE_2_every_receiver_that_waits_gets_one) {
    weft::runtime rt({.workers = 2});
    rt.run([] {
        for (const std::size_t capacity : {std::size_t{64}, std::size_t{300'000}})
            for (int round = 0; round < 200; ++round) {
                const weft::channel<char> c(capacity);
                std::vector<weft::fiber<std::size_t>> receivers;
                for (int i = 0; i < 3; ++i)
                    receivers.push_back(weft::spawn([c] {
                        std::size_t n = 0;
                        for (const char value : c) n += value == 'a' ? 1 : 0;
                        return n;
                    }));
                if (round % 2 == 0) weft::this_fiber::yield();
                std::size_t count = 40;
                EXPECT_EQ(send_many(c, count), channel_op::done);
                c.close();
                std::size_t received = 0;
                for (auto& r : receivers) received += r.join();
                EXPECT_EQ(received, 40u);
            }
    });
}

}  // namespace
