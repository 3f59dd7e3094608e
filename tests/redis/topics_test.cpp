// topics_test.cpp - what receivers and the server are told, reply by reply.
#include "redis/topics.hpp"

#include <sys/mman.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include <weft/deadline.hpp>
#include <weft/fiber.hpp>
#include <weft/runtime.hpp>

namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::ThrowsMessage;
using weft::detail::redis::topic_name;
using weft::detail::redis::topics;
namespace redis = weft::redis;

constexpr auto channel = topic_name::kind::channel;
constexpr weft::subscription park{.capacity = 0, .overflow = weft::overflow::park};

redis::value text(std::string t) { return redis::value(std::move(t)); }
redis::value confirmation(const std::string& name) {
    return redis::value(redis::array{text("subscribe"), text(name), redis::value(std::int64_t{1})});
}
redis::value refusal(const char* reason) { return redis::value(redis::error_reply{reason}); }
redis::value message(const std::string& name) { return redis::value(redis::array{text("message"), text(name), text("hello")}); }

/// What the server is told next.
std::string asked_by(topics& t) {
    std::string bytes;
    for (static_cast<void>(t.take(bytes)); bytes.empty(); static_cast<void>(t.take(bytes))) t.wait_changed(20s);
    return bytes;
}

auto joining(topics& t, const std::string& name) {
    return weft::spawn([&t, name] { return t.join(channel, name, park); });
}

TEST(redis_topics, a_receiver_gets_nothing_before_it_is_confirmed) {
    weft::run([] {
        topics t(100);
        auto joins = joining(t, "c");
        EXPECT_THAT(asked_by(t), HasSubstr("SUBSCRIBE"));
        EXPECT_TRUE(t.accept(message("c")).to.empty()) << "of a subscription that has ended, whose UNSUBSCRIBE is under way";
        t.accept(confirmation("c"));
        const auto c = joins.join();
        EXPECT_EQ(t.accept(message("c")).to.size(), 1u);
    });
}

TEST(redis_topics, a_message_to_a_receiver_that_is_gone_wakes_the_writer) {
    weft::run([] {
        topics t(100);
        auto joins = joining(t, "c");
        asked_by(t);
        t.accept(confirmation("c"));
        joins.join().close();
        t.wait_changed(0ns);
        t.accept(message("c"));
        EXPECT_NO_THROW(weft::with_timeout(20s, [&] { t.wait_changed(weft::forever); }));
        EXPECT_THAT(asked_by(t), HasSubstr("UNSUBSCRIBE"));
    });
}

TEST(redis_topics, subscriptions_that_wait_for_a_server_that_hangs_are_limited) {
    weft::run([] {
        topics t(2);
        auto first = joining(t, "a");
        asked_by(t);
        t.accept(confirmation("a"));
        const auto a = first.join();
        for (const auto* const name : {"b", "c"}) {
            auto gives_up = joining(t, name);
            asked_by(t);
            gives_up.request_stop();
            EXPECT_THROW(static_cast<void>(gives_up.join()), weft::fiber_cancelled);
        }
        try {
            static_cast<void>(t.join(channel, "d", park));
            ADD_FAILURE() << "not refused";
        } catch (const redis::error& failure) {
            EXPECT_EQ(failure.kind(), redis::error_kind::refused);
            EXPECT_THAT(failure.what(), HasSubstr("2 subscriptions wait"));
        }
        EXPECT_FALSE(t.join(channel, "a", park).closed()) << "needs no answer of the server";
    });
}

TEST(redis_topics, a_name_that_no_server_takes_is_refused_before_anything_is_sent) {
    const std::size_t size = (std::size_t{512} << 20) + 1;
    void* const zeros = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ASSERT_NE(zeros, MAP_FAILED);
    weft::run([&] {
        topics t(100);
        try {
            weft::with_timeout(20s, [&] { static_cast<void>(t.join(channel, {static_cast<const char*>(zeros), size}, park)); });
            ADD_FAILURE() << "not refused";
        } catch (const redis::error& failure) {
            EXPECT_EQ(failure.kind(), redis::error_kind::refused);
            EXPECT_THAT(failure.what(), HasSubstr("512 MiB"));
        }
        std::string bytes;
        EXPECT_FALSE(t.take(bytes));
    });
    ::munmap(zeros, size);
}

TEST(redis_topics, only_NOPERM_ends_a_receiver_that_was_confirmed) {
    weft::run([] {
        topics t(100);
        auto joins = joining(t, "c");
        asked_by(t);
        t.accept(confirmation("c"));
        const auto c = joins.join();
        const auto again = [&](const char* answer) {
            t.lost("lost", {});
            std::string bytes;
            static_cast<void>(t.take(bytes));
            t.accept(refusal(answer));
        };
        EXPECT_THAT([&] { again("ERR max number of clients reached"); },
                    ThrowsMessage<std::runtime_error>(HasSubstr("max number of clients")));
        EXPECT_THAT([&] { again("LOADING Redis is loading the dataset in memory"); },
                    ThrowsMessage<std::runtime_error>(HasSubstr("LOADING")));
        EXPECT_FALSE(c.closed());
        again("NOPERM this user has no permissions");
        EXPECT_TRUE(c.closed());
        EXPECT_THAT([&] { t.accept(refusal("ERR unasked")); }, ThrowsMessage<std::runtime_error>("ERR unasked"));
    });
}

}  // namespace
