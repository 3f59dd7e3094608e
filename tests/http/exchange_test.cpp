// exchange_test.cpp - what a busy connection borrows: buffers that grow as needed and come back clean and small.
#include "http/exchange.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace {

using namespace weft::detail;
namespace http = weft::http;

TEST(input_buffer, keeps_what_is_unread) {
    input_buffer in(8192);
    in.append("abc");
    in.consume(1);
    EXPECT_EQ(in.unread(), "bc");
    in.append(std::string(4000, 'd'));
    EXPECT_EQ(in.unread().substr(0, 3), "bcd");
    EXPECT_EQ(in.unread().size(), 4002u);
    in.consume(4002);
    EXPECT_TRUE(in.unread().empty());
}

TEST(input_buffer, grows_to_its_limit_and_no_further) {
    input_buffer in(10000);
    std::size_t total = 0;
    while (!in.room().empty()) {
        const auto n = in.room().size();
        in.append(std::string(n, 'x'));
        total += n;
    }
    EXPECT_EQ(total, 10000u);
    EXPECT_EQ(in.unread(), std::string(10000, 'x'));
    in.consume(1);
    EXPECT_EQ(in.room().size(), 1u);
}

TEST(exchange_pool, lends_the_one_used_last) {
    exchange_pool pool({});
    auto first = pool.take();
    auto second = pool.take();
    exchange* const used_last = first.get();
    second.reset();
    first.reset();
    EXPECT_EQ(pool.take().get(), used_last);
}

TEST(exchange_pool, EXCHANGE_2_takes_them_back_clean_and_small) {
    exchange_pool pool({});
    auto x = pool.take();
    exchange* const same = x.get();
    x->in.append("GET / HT");
    EXPECT_EQ(x->decoder.next(x->in, x->request), decoded::more);
    x->out.assign(1 << 20, 'o');
    x->request.parts().body.assign(1 << 20, 'b');
    x.reset();
    x = pool.take();
    ASSERT_EQ(x.get(), same);
    EXPECT_TRUE(x->in.unread().empty());
    EXPECT_EQ(x->decoder.phase(), decode_phase::idle);
    EXPECT_LE(x->held_bytes(), exchange::kept_bytes);
    x->in.append("GET / HTTP/1.0\r\n\r\n");
    EXPECT_EQ(x->decoder.next(x->in, x->request), decoded::request);
}

TEST(exchange_pool, EXCHANGE_2_each_part_that_grew_large_is_given_back) {
    const auto part_of = [](http::request_parts& p, int i) -> std::string& {
        return i == 0 ? p.method : i == 1 ? p.target : p.body;
    };
    for (int i = 0; i < 4; ++i) {
        exchange_pool pool({});
        auto x = pool.take();
        exchange* const same = x.get();
        if (i < 3) part_of(x->request.parts(), i).assign(1 << 20, 'x');
        if (i == 3)
            for (int field = 0; field < 10'000; ++field) x->request.parts().headers.add("a", "b");
        EXPECT_GT(x->held_bytes(), exchange::kept_bytes) << i;
        x.reset();
        x = pool.take();
        ASSERT_EQ(x.get(), same);
        EXPECT_LE(x->held_bytes(), exchange::kept_bytes) << i;
    }
}

TEST(exchange_pool, EXCHANGE_4_the_heap_is_told_once_after_a_burst) {
    exchange_pool pool({});
    std::vector<exchange_pool::lease> lent;
    const auto lend = [&](std::size_t count, std::size_t bytes_each) {
        while (lent.size() < count) (lent.emplace_back(pool.take()))->request.parts().body.assign(bytes_each, 'b');
    };
    lend(1000, 20'000);
    lent.resize(200);
    EXPECT_EQ(pool.bursts(), 0u) << "a fifth is busy still";
    lent.resize(100);
    EXPECT_EQ(pool.bursts(), 1u);
    lent.clear();
    EXPECT_EQ(pool.bursts(), 1u);
    for (int i = 0; i < 10'000; ++i) pool.take()->request.parts().body.assign(100'000, 'b');
    EXPECT_EQ(pool.bursts(), 1u) << "one after the other is no burst, however large";
    lend(200, 1'000'000);
    lent.clear();
    EXPECT_EQ(pool.bursts(), 1u) << "nor are so few as the pool keeps";
    lend(1000, 20'000);
    lent.clear();
    EXPECT_EQ(pool.bursts(), 2u);
}

TEST(exchange_pool, keeps_a_bounded_number) {
    exchange_pool pool({});
    std::vector<exchange_pool::lease> all;
    for (int i = 0; i < 1000; ++i) all.push_back(pool.take());
    all.clear();                           // asan counts what is lost
    EXPECT_TRUE(pool.take());
}

TEST(exchange_pool, stress_lends_each_to_one_borrower) {
    exchange_pool pool({});
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&pool, t] {
            for (int i = 0; i < 5000; ++i) {
                const auto x = pool.take();
                const std::string mine(1, static_cast<char>('a' + t));
                x->in.append(mine);
                std::this_thread::yield();
                EXPECT_EQ(x->in.unread(), mine);
            }
        });
    for (auto& t : threads) t.join();
}

}  // namespace
