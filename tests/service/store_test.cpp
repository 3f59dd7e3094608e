// store_test.cpp - what every store promises, and what SQLite adds.
#include "store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include <weft/deadline.hpp>
#include <weft/fiber.hpp>
#include <weft/runtime.hpp>

#include "service/support/places.hpp"

namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using testing::HasSubstr;
using testing::ThrowsMessage;
using users::open_store;
using users::user;
using weft::test::redis_place;
using weft::test::sqlite_place;

template <class Place>
class store_contract : public testing::Test {
protected:
    Place place;
};
using places = testing::Types<sqlite_place, redis_place>;
TYPED_TEST_SUITE(store_contract, places, );

TYPED_TEST(store_contract, keeps_what_was_put) {
    weft::run([&] {
        const auto data = open_store(this->place.store());
        EXPECT_EQ(data->get("1"), std::nullopt);
        data->put({"1", "Ann"});
        EXPECT_EQ(data->get("1"), (user{"1", "Ann"}));
        data->put({"1", "Bob"});
        EXPECT_EQ(data->get("1"), (user{"1", "Bob"}));
        EXPECT_TRUE(data->remove("1"));
        EXPECT_FALSE(data->remove("1"));
        EXPECT_EQ(data->get("1"), std::nullopt);
    });
}

TYPED_TEST(store_contract, ids_and_names_are_any_bytes) {
    weft::run([&] {
        const auto data = open_store(this->place.store());
        const std::string odd = "'; drop table users; --\r\n\0\xff"s;
        data->put({odd, odd});
        EXPECT_EQ(data->get(odd), (user{odd, odd}));
        EXPECT_EQ(data->get(odd.substr(0, 5)), std::nullopt);
    });
}

TYPED_TEST(store_contract, many_fibers_at_once_stress) {
    weft::run([&] {
        const auto data = open_store(this->place.store());
        std::vector<weft::fiber<>> fibers;
        for (int f = 0; f < 50; ++f)
            fibers.push_back(weft::spawn([&, f] {
                for (int round = 0; round < 10; ++round) {
                    const user mine{std::to_string(f), "name " + std::to_string(f) + '.' + std::to_string(round)};
                    data->put(mine);
                    EXPECT_EQ(data->get(mine.id), mine);
                }
                EXPECT_TRUE(data->remove(std::to_string(f)));
            }));
        for (auto& f : fibers) f.join();
    }, {.workers = 4});
}

TYPED_TEST(store_contract, a_caller_that_leaves_harms_nobody_stress) {
    weft::run([&] {
        const auto data = open_store(this->place.store());
        data->put({"1", "Ann"});
        std::vector<weft::fiber<>> fibers;
        for (int f = 0; f < 50; ++f)
            fibers.push_back(weft::spawn([&, f] {
                for (int round = 0; round < 20; ++round) try {
                    weft::with_timeout(std::chrono::microseconds((f + round * 7) % 300), [&] { return data->get("1"); });
                } catch (const weft::timeout_error&) {
                }
            }));
        for (auto& f : fibers) f.join();
        EXPECT_EQ(data->get("1"), (user{"1", "Ann"})) << "every connection is back in its pool";
    }, {.workers = 4});
}

TEST(sqlite_store, survives_the_end_of_the_process) {
    const sqlite_place place;
    weft::run([&] { open_store(place.store())->put({"1", "Ann"}); });
    weft::run([&] { EXPECT_EQ(open_store(place.store())->get("1"), (user{"1", "Ann"})); });
}

TEST(sqlite_store, names_the_file_it_cannot_open) {
    const sqlite_place place;
    EXPECT_THAT([&] { open_store(place.folder / "no/such/folder/users.db"); },
                ThrowsMessage<std::runtime_error>(testing::AllOf(HasSubstr("no/such/folder"), HasSubstr("unable to open"))));
    std::ofstream(place.store()) << "this is no database, but a text of a hundred bytes or more, "
                                    "which is what a database file begins with: its header";
    EXPECT_THAT([&] { open_store(place.store()); }, ThrowsMessage<std::runtime_error>(HasSubstr("not a database")));
}

TEST(sqlite_store, works_on_a_plain_thread_too) {
    const sqlite_place place;
    const auto data = open_store(place.store());
    data->put({"1", "Ann"});
    EXPECT_EQ(data->get("1"), (user{"1", "Ann"}));
}

TEST(open_store, refuses_what_is_neither_file_nor_redis) {
    EXPECT_THAT([] { open_store(""); }, ThrowsMessage<std::invalid_argument>(HasSubstr("redis://host:port")));
    EXPECT_THAT([] { open_store("mysql://root:hush@h"); },
                ThrowsMessage<std::invalid_argument>(testing::AllOf(HasSubstr("mysql://"), testing::Not(HasSubstr("hush")))));
}

}  // namespace
