// codec_test.cpp - the protocol of NATS, cut at each byte, and what is refused.
#include "nats/codec.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <weft/nats/error.hpp>

namespace {

using namespace std::string_literals;
using namespace weft::detail::nats;
using testing::HasSubstr;
using testing::ThrowsMessage;
namespace nats = weft::nats;

struct journal final : listener_of_parser {
    void on_message(const arrival& a) override {
        const auto m = a.take();
        auto line = std::to_string(a.sid) + " " + m.subject + " " + m.reply + " '" + m.payload + "'";
        for (const auto& [name, value] : m.headers) line += " " + name + "=" + value;
        said.push_back(line);
    }
    void on_info(std::string_view json) override { said.push_back("info " + std::string(json)); }
    void on_ping() override { said.emplace_back("ping"); }
    void on_pong() override { said.emplace_back("pong"); }
    void on_error(std::string_view text) override { said.push_back("error " + std::string(text)); }
    std::vector<std::string> said;
};

std::vector<std::string> parsed(std::string_view bytes, std::size_t piece, std::size_t most = 1 << 20) {
    parser p(most);
    journal j;
    for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) p.feed(bytes.substr(0, piece), j);
    return j.said;
}

const std::string conversation =
    "INFO {\"a\":1}\r\n+OK\r\nPING\r\nMSG a.b 7 5\r\nhe\r\no\r\nMSG a 8 in.box 0\r\n\r\n"
    "HMSG x 9 r 29 32\r\nNATS/1.0\r\nA: b\r\nCc:  d e \r\n\r\nxyz\r\nHMSG x 1 16 16\r\nNATS/1.0 503\r\n\r\n\r\n-ERR "
    "'No'\r\nPONG\r\n";
const std::vector<std::string> meaning{
    "info {\"a\":1}", "ping", "7 a.b  'he\r\no'", "8 a in.box ''", "9 x r 'xyz' A=b Cc=d e", "1 x  '' Status=503",
    "error 'No'",     "pong"};

TEST(nats_codec, NATS_CODEC_1_cuts_change_nothing) {
    for (std::size_t piece = 1; piece <= conversation.size(); ++piece) EXPECT_EQ(parsed(conversation, piece), meaning) << piece;
}

TEST(nats_codec, NATS_CODEC_2_a_long_line_is_refused_wherever_it_is_cut) {
    for (const std::size_t piece : {1u, 7u, 4096u, 100'000u}) {
        EXPECT_THAT([&] { parsed(std::string(5000, 'M'), piece); },
                    ThrowsMessage<nats::error>(HasSubstr("more than 4096 bytes")));
        EXPECT_EQ(parsed("INFO " + std::string(5000, 'x') + "\r\n", piece).size(), 1u);
        EXPECT_THAT([&] { parsed("INFO " + std::string(70'000, 'x'), piece); },
                    ThrowsMessage<nats::error>(HasSubstr("more than")));
    }
}

TEST(nats_codec, NATS_CODEC_1_a_message_means_the_same_whether_all_of_it_has_come) {
    const std::string longest = "MSG " + std::string(parser::max_line - 9, 'a') + " 1 2\r";
    ASSERT_EQ(longest.size(), parser::max_line);
    for (const std::string& text :
         {"MSG a  1 2\r\nhi\r\n"s, "MSG a\t1 2\r\nhi\r\n"s, "msg a 1 2\r\nhi\r\n"s, "MSG a 1 r\t2\r\nhi\r\n"s,
          "MSG a 1 2 \r\nhi\r\n"s, "MSG a 1  r 2\r\nhi\r\n"s, "MSG  a 1 2\r\nhi\r\n"s, "MSG \x01 1 2\r\nhi\r\n"s,
          "MSG \xc3\xa4 1 2\r\nhi\r\n"s, longest + "\nhi\r\n"})
        for (std::size_t piece = 1; piece <= text.size(); piece += text.size() > 99 ? 4000 : 1) {
            EXPECT_EQ(parsed(text, piece).size(), 1u) << text << piece;
            EXPECT_EQ(parsed(text, piece), parsed(text, 1)) << text << piece;
        }
    for (const std::string& bad :
         {"MSG a 1 2\n\nhi\r\n"s, "MSG a 1 2\r\nhi\n\n"s, "MSG a 1 2\r\nhi!\r\n"s, "MSG a\n1 2\r\nhi\r\n"s,
          "MSG a 1 2 3 4\r\nhi\r\n"s, "MSG a x 2\r\nhi\r\n"s, "MSG a" + longest.substr(4) + "\nhi\r\n"})
        for (std::size_t piece = 1; piece <= bad.size(); piece += bad.size() > 99 ? 4000 : 1)
            EXPECT_THROW(parsed(bad, piece), nats::error) << bad << piece;
}

TEST(nats_codec, what_is_not_nats_is_refused_with_its_text) {
    for (const std::string bad : {"HTTP/1.1 400 Bad Request\r\n", "PING\n", "MSG a 1\r\n", "MSG a x 1\r\n", "MSG a 1 -1\r\n",
                                  "MSG a 1 r 2 3 4\r\n", "HMSG a 1 9 5\r\n", "HMSG a 1 2 2\r\nxx\r\n", "MSG a 1 1\r\nabc",
                                  "HMSG a 1 14 14\r\nNATS/1.0\r\nab\r\n\r\n", "MSG a 1 99999999999999999999\r\n", "\r\n"}) {
        try {
            parsed(bad, 3);
            ADD_FAILURE() << bad;
        } catch (const nats::error& e) {
            EXPECT_EQ(e.code(), nats::nats_errc::protocol_error) << bad;
            EXPECT_EQ(std::string(e.what()).find_first_of("\r\n"), std::string::npos) << bad;
        }
    }
    EXPECT_THAT([] { parsed("MSG a 1 2000000\r\n", 99); }, ThrowsMessage<nats::error>(HasSubstr("a message of 2000000 bytes")));
}

TEST(nats_codec, subjects) {
    for (const auto* good : {"a", "a.b.c", "_INBOX.x.1", "$JS.API.INFO", "a*b", "a>"})
        EXPECT_NO_THROW(check_subject(good)) << good;
    for (const auto* bad : {"", ".", "a.", ".a", "a..b", "a b", "a\tb", "a\r\nPUB b", "*", "a.*", "a.>", ">", "\x7f"})
        EXPECT_THROW(check_subject(bad), nats::error) << bad;
    for (const auto* good : {"*", "a.*.b", ">", "a.>"}) EXPECT_NO_THROW(check_pattern(good)) << good;
    for (const auto* bad : {"a.>.b", "a.*.", ""}) EXPECT_THROW(check_pattern(bad), nats::error) << bad;
    EXPECT_THROW(check_subject(std::string(5000, 'a')), nats::error);
}

TEST(nats_codec, headers_cannot_smuggle) {
    EXPECT_NO_THROW(check_headers({{"Nats-Msg-Id", "a b"}, {"x", ""}}));
    for (const nats::headers& bad : {nats::headers{{"a:", "b"}}, nats::headers{{"", "b"}}, nats::headers{{"a b", "c"}},
                                     nats::headers{{"a", "b\nc"}}, nats::headers{{"a", "b\rc"}}, nats::headers{{"a\r\nb", "c"}}})
        EXPECT_THROW(check_headers(bad), nats::error);
}

TEST(nats_codec, what_is_written_is_read_again) {
    std::string bytes;
    append_publish(bytes, "a.b", "", "", "one");
    append_publish(bytes, "a", "r", write_headers({{"X", "y"}}), "");
    append_subscribe(bytes, "a.*", "q", 7);
    append_subscribe(bytes, "a.>", "", 8);
    append_unsubscribe(bytes, 7);
    EXPECT_EQ(bytes, "PUB a.b 3\r\none\r\nHPUB a r 18 18\r\nNATS/1.0\r\nX: y\r\n\r\n\r\nSUB a.* q 7\r\nSUB a.> 8\r\nUNSUB 7\r\n");
}

}  // namespace
