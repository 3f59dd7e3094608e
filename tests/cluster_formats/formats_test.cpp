// The wire formats besides CBOR (weft/cluster/protobuf.hpp, weft/cluster/msgpack.hpp): between two nodes, between
// releases, and for bytes that are no message.
#include <gmock/gmock.h>

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/type.pb.h>
#include <google/protobuf/wrappers.pb.h>

#include <functional>
#include <map>

#include <weft/cluster.hpp>
#include <weft/cluster/msgpack.hpp>
#include <weft/cluster/protobuf.hpp>
#include <weft/cluster/simulated_transport.hpp>
#include <weft/explore.hpp>
#include <weft/weft.hpp>

using namespace std::chrono_literals;
using testing::HasSubstr;
using weft::cluster::errc;
using weft::cluster::node;
using weft::cluster::wire_format;

namespace notes {

struct note {
    std::string text;
    std::vector<int> marks;
    MSGPACK_DEFINE(text, marks)
};
/// The next release's.
struct note_with_author {
    std::string text;
    std::vector<int> marks;
    std::string author = "nobody";
    MSGPACK_DEFINE(text, marks, author)
};
struct by_name {
    int first = 1, second = 2;
    MSGPACK_DEFINE_MAP(first, second)
};
struct nested {
    std::vector<nested> inner;
    MSGPACK_DEFINE(inner)
};
struct all {
    using reply = std::string;
    MSGPACK_DEFINE()
};

/// Takes messages of both formats.
struct book {
    using remote = weft::cluster::messages<note, all, google::protobuf::StringValue>;
    void handle(const note& n) { texts += n.text + ' ' + std::to_string(n.marks.size()) + ' '; }
    void handle(const google::protobuf::StringValue& v) { texts += v.value() + ' '; }
    std::string handle(all) const { return texts; }
    std::string texts;
};

}  // namespace notes

WEFT_WIRE(notes::note, "notes.note", 1);
WEFT_WIRE(notes::all, "notes.all", 1);
WEFT_WIRE(google::protobuf::StringValue, "notes.text", 1);
template <>
struct weft::cluster::wire_format<std::string> : weft::cluster::msgpack_format<std::string> {};

namespace {

std::vector<std::byte> bytes_of(std::string_view text) {
    const auto* const first = reinterpret_cast<const std::byte*>(text.data());
    return {first, first + text.size()};
}
template <class T>
std::vector<std::byte> written(const T& value) {
    auto bytes = bytes_of("before");
    wire_format<T>::write(value, 1, bytes);
    bytes.erase(bytes.begin(), bytes.begin() + 6);
    return bytes;
}
/// What is said of bytes that are no T; empty: they are one.
template <class T>
std::string refusal_of(const std::vector<std::byte>& bytes) {
    try {
        static_cast<void>(wire_format<T>::read(bytes, 1));
    } catch (const weft::cluster::error& e) {
        EXPECT_EQ(e.code(), errc::bad_message);
        return e.what();
    }
    return {};
}

/// Each prefix of a message is refused, or is a message; and so is one in which a byte is another one.
template <class T>
void survives_damage(const T& value) {
    const auto whole = written(value);
    for (std::size_t n = 0; n < whole.size(); ++n) {
        static_cast<void>(refusal_of<T>({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n)}));
        for (int b = 0; b < 256; ++b) {
            auto damaged = whole;
            damaged[n] = static_cast<std::byte>(b);
            static_cast<void>(refusal_of<T>(damaged));
        }
    }
}

}  // namespace

TEST(cluster_formats, two_nodes_talk_in_both) {
    weft::explore(10, [] {
        weft::cluster::simulated_transport words;
        node a({.name = "a", .cluster = "notes", .words = words.at("a")}),
            b({.name = "b", .cluster = "notes", .words = words.at("b")});
        const auto local = weft::spawn_actor<notes::book>({.name = "book"});
        const auto exposed = b.expose(local);
        const auto book = a.find<notes::book>("b", "book", 1s);
        book.send(notes::note{.text = "first", .marks = {1, 2, 3}});
        google::protobuf::StringValue second;
        second.set_value("second");
        book.ask(second, 1s);
        EXPECT_EQ(book.ask(notes::all{}, 1s), "first 3 second ");
        local.stop();
    });
}

TEST(cluster_formats, msgpack_reads_what_releases_before_and_after_have_written) {
    const auto later = wire_format<notes::note_with_author>::read(written(notes::note{.text = "t", .marks = {7}}), 1);
    EXPECT_EQ(later.text, "t");
    EXPECT_EQ(later.author, "nobody");
    const auto before =
        wire_format<notes::note>::read(written(notes::note_with_author{.text = "u", .marks = {}, .author = "ann"}), 1);
    EXPECT_EQ(before.text, "u");
    const auto named = wire_format<notes::by_name>::read(bytes_of("\x81\xa6second\x05"), 1);
    EXPECT_EQ(named.first, 1);
    EXPECT_EQ(named.second, 5);
}

TEST(cluster_formats, msgpack_refuses_what_is_no_message) {
    using notes::note;
    EXPECT_THAT(refusal_of<note>({}), HasSubstr("cut short"));
    EXPECT_THAT(refusal_of<note>(bytes_of("\xc1")), HasSubstr("malformed"));
    EXPECT_THAT(refusal_of<note>(bytes_of("\x92\xa1t")), HasSubstr("cut short"));
    EXPECT_THAT(refusal_of<note>(bytes_of("\x92\x05\x90")), HasSubstr("another type than the message's field"));
    auto longer = written(note{.text = "t", .marks = {}});
    longer.push_back(std::byte{0});
    EXPECT_THAT(refusal_of<note>(longer), HasSubstr("bytes after the value"));
    survives_damage(note{.text = "some text", .marks = {1, 200, 70'000}});
}

TEST(cluster_formats, msgpack_is_bounded_in_depth_and_items) {
    EXPECT_EQ(refusal_of<notes::nested>(bytes_of(std::string(40, '\x91') + '\x90')), "");
    EXPECT_THAT(refusal_of<notes::nested>(bytes_of(std::string(100'000, '\x91') + '\x90')), HasSubstr("deeper than 64 levels"));
    // Arrays of 2^32 - 1 items each, and maps.
    std::string promises;
    for (int i = 0; i < 60; ++i) promises += "\xdd\xff\xff\xff\xff";
    EXPECT_THAT(refusal_of<notes::nested>(bytes_of(promises)), HasSubstr("cut short, malformed"));
    EXPECT_THAT(refusal_of<notes::by_name>(bytes_of("\xdf\xff\xff\xff\xff")), HasSubstr("cut short, malformed"));
    EXPECT_THAT(refusal_of<notes::note>(bytes_of("\xdb\xff\xff\xff\xff")), HasSubstr("cut short"));
    const auto items = [](std::uint32_t n) {
        std::string text = "\x91\xdd";
        for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(n >> shift);
        return bytes_of(text + std::string(n, '\x90'));
    };
    EXPECT_EQ(refusal_of<notes::nested>(items(999'999)), "");
    EXPECT_THAT(refusal_of<notes::nested>(items(1'000'000)),
                HasSubstr("more than a million items"));  // and the outer array's one
}

TEST(cluster_formats, protobuf_refuses_what_is_no_message) {
    google::protobuf::StringValue text;
    text.set_value(std::string(300, 'x'));
    EXPECT_EQ(wire_format<google::protobuf::StringValue>::read(written(text), 1).value(), text.value());
    EXPECT_EQ(refusal_of<google::protobuf::StringValue>({}), "");  // a message without fields
    EXPECT_THAT(refusal_of<google::protobuf::StringValue>(bytes_of("\x0a\x05"
                                                                   "abc")),
                HasSubstr("Protocol Buffers cannot read it"));
    EXPECT_THAT(refusal_of<google::protobuf::StringValue>(bytes_of("\x0c")), HasSubstr("Protocol Buffers cannot read it"));
    google::protobuf::BytesValue raw;  // the library prints a line for each text that is no UTF-8
    raw.set_value("some bytes");
    survives_damage(raw);
}

TEST(cluster_formats, protobuf_is_not_read_deeper_than_a_stack_holds) {
    const auto nested = [](int levels) {
        google::protobuf::Value v;
        for (int i = 0; i < levels; ++i) {
            google::protobuf::Value outer;
            *outer.mutable_list_value()->add_values() = v;
            v = outer;
        }
        return written(v);
    };
    EXPECT_EQ(refusal_of<google::protobuf::Value>(nested(30)), "");
    EXPECT_THAT(refusal_of<google::protobuf::Value>(nested(40)),
                HasSubstr("Protocol Buffers cannot read it"));  // two levels each
}
