// user_json_test.cpp - which JSON is a user, and what the sender of another is told.
#include "user_json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;
using users::bad_user;
using users::to_json;
using users::user;
using users::user_from_json;

TEST(user_json, an_id_is_a_string_or_an_integer) {
    EXPECT_EQ(user_from_json(R"({"id":"ann","name":"Ann Lee"})"), (user{"ann", "Ann Lee"}));
    EXPECT_EQ(user_from_json(R"( { "name" : "B" , "id" : 7 } )"), (user{"7", "B"}));
    EXPECT_EQ(user_from_json(R"({"id":-9223372036854775808,"name":"B"})").id, "-9223372036854775808");
    EXPECT_EQ(user_from_json(R"({"id":18446744073709551615,"name":"B"})").id, "18446744073709551615");
    EXPECT_EQ(user_from_json(R"({"id":"\u00e9/ ","name":"\ud83d\ude00"})"), (user{"é/ ", "😀"}));
}

TEST(user_json, a_wrong_field_is_named_with_what_is_allowed) {
    const std::string long_id(129, 'x'), long_name(1025, 'x');
    const std::pair<std::string, std::pair<const char*, const char*>> wrong[] = {
        {R"({"name":"A"})", {R"("id" is missing)", "or an integer"}},
        {R"({"id":"a"})", {R"("name" is missing)", "a string of 1 to 1024 bytes"}},
        {R"({"id":true,"name":"A"})", {R"("id" is of type boolean)", "a string of 1 to 128 bytes"}},
        {R"({"id":1.5,"name":"A"})", {R"("id" is of type number)", "integer"}},
        {R"({"id":1e2,"name":"A"})", {R"("id" is of type number)", "integer"}},
        {R"({"id":null,"name":"A"})", {R"("id" is of type null)", "integer"}},
        {R"({"id":["a"],"name":"A"})", {R"("id" is of type array)", "integer"}},
        {R"({"id":"","name":"A"})", {R"("id" is empty)", "1 to 128 bytes"}},
        {R"({"id":")" + long_id + R"(","name":"A"})", {R"("id" is 129 bytes long)", "1 to 128 bytes"}},
        {R"({"id":"a\nb","name":"A"})", {R"("id" has a control character)", "without control"}},
        {R"({"id":"a\u0000","name":"A"})", {R"("id" has a control character)", "without control"}},
        {R"({"id":"a","name":7})", {R"("name" is of type number)", "1 to 1024 bytes"}},
        {R"({"id":"a","name":""})", {R"("name" is empty)", "1 to 1024 bytes"}},
        {R"({"id":"a","name":")" + long_name + R"("})", {R"("name" is 1025 bytes long)", "1 to 1024 bytes"}},
        {R"({"id":"a","name":"A","age":7})", {R"("age" is unknown)", R"("id" and "name")"}},
    };
    for (const auto& [text, parts] : wrong)
        EXPECT_THAT([&] { user_from_json(text); },
                    ThrowsMessage<bad_user>(AllOf(HasSubstr(parts.first), HasSubstr(parts.second)))) << text;
}

TEST(user_json, what_is_not_json_or_no_object_is_said_so) {
    EXPECT_THAT([] { user_from_json(""); }, ThrowsMessage<bad_user>(HasSubstr("the body is empty")));
    EXPECT_THAT([] { user_from_json("{\"id\":"); }, ThrowsMessage<bad_user>(HasSubstr("not JSON from byte 7")));
    EXPECT_THAT([] { user_from_json("{\"id\":\"\xff\",\"name\":\"A\"}"); }, ThrowsMessage<bad_user>(HasSubstr("not JSON")));
    EXPECT_THAT([] { user_from_json("[1]"); }, ThrowsMessage<bad_user>(HasSubstr("of type array")));
    EXPECT_THAT([] { user_from_json("id=1&name=A"); },
                ThrowsMessage<bad_user>(HasSubstr(R"(expected {"id": "...", "name": "..."})")));
    EXPECT_THAT([] { user_from_json(R"({"id":1e999,"name":"A"})"); }, ThrowsMessage<bad_user>(HasSubstr("not JSON")));
}

TEST(user_json, deep_nesting_is_refused_without_recursion) {
    EXPECT_THROW(user_from_json(std::string(1'000'000, '[')), bad_user);
    EXPECT_THROW(user_from_json(std::string(500'000, '[') + std::string(500'000, ']')), bad_user);
    EXPECT_THROW(user_from_json(R"({"id":)" + std::string(400'000, '[') + std::string(400'000, ']') + "}"), bad_user);
}

TEST(user_json, the_first_thing_that_is_wrong_is_told_and_nothing_behind_it_is_read) {
    const std::pair<const char*, const char*> wrong[] = {
        {R"([[[[ no json)", "the body is of type array"},
        {R"("text" no json)", "the body is of type string"},
        {"7", "the body is of type number"},
        {"-7", "the body is of type number"},
        {"1.5", "the body is of type number"},
        {"null", "the body is of type null"},
        {R"({"id":[[[ no json)", R"("id" is of type array)"},
        {R"({"name":{"name":{ no json)", R"("name" is of type object)"},
        {R"({"age": no json)", R"("age" is unknown)"},
        {R"({"id":"a","name":"A"} no json)", "not JSON from byte 24"},
        {R"({"id":"a","name":"A",})", "not JSON from byte 22"},
    };
    for (const auto& [text, part] : wrong)
        EXPECT_THAT([&] { user_from_json(text); }, ThrowsMessage<bad_user>(HasSubstr(part))) << text;
}

TEST(user_json, of_a_field_that_stands_twice_the_last_one_counts) {
    EXPECT_EQ(user_from_json(R"({"id":"a","id":7,"name":"A","name":"B"})"), (user{"7", "B"}));
    EXPECT_EQ(user_from_json(R"({"id":7,"id":"a","name":"A"})"), (user{"a", "A"}));
}

TEST(user_json, the_longest_user_fits_into_a_body) {
    const auto escaped = [](std::size_t bytes) {
        std::string text;
        for (std::size_t i = 0; i < bytes; ++i) text += "\\u0041";
        return text;
    };
    const auto text = R"({"id":")" + escaped(128) + R"(","name":")" + escaped(1024) + R"("})";
    EXPECT_EQ(user_from_json(text), (user{std::string(128, 'A'), std::string(1024, 'A')}));
    EXPECT_LT(text.size(), users::longest_user_json);
}

TEST(user_json, what_is_written_is_read_back) {
    for (const user& u : {user{"1", "Ann"}, user{"a\"b\\c", "x/y"}, user{"é", "😀 \x7e"}})
        EXPECT_EQ(user_from_json(to_json(u)), u);
    EXPECT_EQ(to_json({"1", "Ann"}), R"({"id":"1","name":"Ann"})");
    EXPECT_EQ(to_json({"q\"", "tab\t"}), R"({"id":"q\"","name":"tab\t"})");
    EXPECT_EQ(to_json({"1", "\xff"}), "{\"id\":\"1\",\"name\":\"\xef\xbf\xbd\"}") << "what the database holds may be anything";
}

}  // namespace
