// unix_test.cpp - Unix sockets: streams, packets, descriptors, and the files of listeners.
#include <weft/net/unix.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <weft/io/byte_listener.hpp>
#include <weft/io/byte_stream.hpp>
#include <weft/net/resolve.hpp>
#include <weft/select.hpp>

#include "tcp_fixture.hpp"

namespace weft::test {
namespace {

using unix_socket::listener;
using unix_socket::packets;
using unix_socket::stream;

static_assert(io::full_stream<stream> && io::full_listener<listener>);

// What no operation here reports: each must set its error, or clear it.
const std::error_code untouched = std::make_error_code(std::errc::io_error);

/// A directory for sockets that goes with the test.
class folder {
public:
    folder() {
        std::string pattern = (std::filesystem::temp_directory_path() / "weft-unix-XXXXXX").string();
        if (!::mkdtemp(pattern.data())) throw std::runtime_error("no directory for a socket");
        path_ = pattern;
    }
    folder(const folder&) = delete;
    folder& operator=(const folder&) = delete;
    ~folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    std::string operator/(const char* name) const { return path_ / name; }

private:
    std::filesystem::path path_;
};

/// What a process that was killed leaves behind: a socket at a path on which nobody listens.
void leave_stale(const std::string& path) {
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    std::strncpy(at.sun_path, path.c_str(), sizeof at.sun_path - 1);
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
    ::close(fd);
}

std::string text_of(std::span<const std::byte> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

class unix_test : public tcp_test {};

TEST_P(unix_test, a_stream_through_a_path) {
    run([&] {
        const folder here;
        listener l({.path = here / "s"});
        EXPECT_EQ(to_string(l.local()), "unix:" + (here / "s"));
        auto server = beside([&] {
            auto far = l.accept();
            EXPECT_EQ(far.read_until('\n', 100), "hello\n");
            far.write_all("and ");
            const std::string_view parts[] = {"good", "bye"};
            const std::span<const std::byte> pieces[] = {bytes_of(parts[0]), bytes_of(parts[1])};
            far.write_all(pieces);
        });
        auto near = stream::connect({.path = here / "s"});
        EXPECT_EQ(near.remote(), l.local());
        EXPECT_EQ(near.local(), net::endpoint());
        near.write_all("hello\n");
        std::array<std::byte, 11> answer;
        near.read_exact(answer);
        EXPECT_EQ(text_of(answer), "and goodbye");
        server.join();
        EXPECT_EQ(near.read_some(answer), 0u);
        l.close();
        EXPECT_FALSE(std::filesystem::exists(here / "s"));
    });
}

TEST_P(unix_test, closing_wakes_who_accepts_or_reads) {
    run([&] {
        const folder here;
        listener l({.path = here / "s"});
        auto [near, far] = unix_socket::pair();
        auto closer = beside([&] {
            sleep(20ms);
            l.close();
            near.close();
        });
        std::error_code error = untouched;
        l.accept(error);
        EXPECT_EQ(error, std::errc::bad_file_descriptor);
        std::array<std::byte, 4> some;
        near.read_some(some, error);
        EXPECT_EQ(error, std::errc::bad_file_descriptor);
        closer.join();
        int accepted = 0;
        for (stream peer : l) accepted += peer.is_open();
        EXPECT_EQ(accepted, 0) << "the range of a closed listener is empty";
    });
}

TEST_P(unix_test, packets_keep_their_ends) {
    run([&] {
        auto [near, far] = unix_socket::packet_pair();
        auto sender = beside([&] {
            far.send("one");
            far.send("three words long");
            far.send("four");
            sleep(10ms);
            far.close();
        });
        std::array<std::byte, 5> room;
        EXPECT_EQ(text_of(std::span(room).first(near.receive(room).count)), "one");
        std::error_code error = untouched;
        EXPECT_EQ(near.receive(room, 0, error).count, 0u);
        EXPECT_EQ(error, std::errc::message_size) << "what does not fit is an error";
        EXPECT_EQ(text_of(std::span(room).first(near.receive(room, 0, error).count)), "four");
        EXPECT_FALSE(error);
        EXPECT_EQ(near.receive(room).count, 0u) << "the end";
        near.send({}, {}, error);
        EXPECT_EQ(error, std::errc::invalid_argument) << "an empty packet looks like the end";
        near.send(bytes_of("x"), {}, error);
        EXPECT_EQ(error, std::errc::broken_pipe);
        sender.join();
    });
}

INSTANTIATE_TEST_SUITE_P(all, unix_test, every_place(), name_of);

class unix_socket_test : public testing::Test {
protected:
    void SetUp() override { before_ = open_descriptors(); }
    void TearDown() override {
        EXPECT_EQ(open_descriptors(), before_) << "a descriptor has survived, or one too many was closed";
    }

private:
    std::set<std::string> before_;
};

TEST_F(unix_socket_test, an_abstract_name_has_no_file) {
    const std::string name = "weft-test-" + std::to_string(::getpid());
    listener l({.abstract = name});
    EXPECT_EQ(to_string(l.local()), "unix:@" + name);
    EXPECT_THROW(listener({.abstract = name}), std::system_error);
    auto near = stream::connect(unix_socket::address::of(l.local()));
    EXPECT_EQ(near.remote(), l.local());
    EXPECT_TRUE(l.try_accept());
    EXPECT_FALSE(l.try_accept());
    near.close();
    l.close();
    std::error_code error;
    EXPECT_FALSE(stream::connect({.abstract = name}, error).is_open());
    EXPECT_EQ(error, std::errc::connection_refused);
}

TEST_F(unix_socket_test, UNIX_BOUND_1_only_a_socket_on_which_nobody_listens_is_replaced) {
    const folder here;
    std::error_code error = untouched;
    const std::string stale = here / "stale";
    leave_stale(stale);
    EXPECT_FALSE(listener({.path = stale}, {.unlink_stale = false}, error).is_open());
    EXPECT_EQ(error, std::errc::address_in_use);
    listener first({.path = stale}, {}, error);
    EXPECT_FALSE(error);

    EXPECT_FALSE(listener({.path = stale}, {}, error).is_open()) << "somebody listens";
    EXPECT_EQ(error, std::errc::address_in_use);
    EXPECT_THROW(unix_socket::packet_listener({.path = stale}), std::system_error) << "though for streams";
    EXPECT_TRUE(stream::connect({.path = stale}).is_open());

    const std::string file = here / "file";
    ::close(::open(file.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    EXPECT_FALSE(listener({.path = file}, {}, error).is_open()) << "a file is not stale";
    EXPECT_EQ(error, std::errc::address_in_use);
    EXPECT_TRUE(std::filesystem::exists(file));
}

TEST_F(unix_socket_test, UNIX_BOUND_1_a_path_that_is_no_longer_ours_stays) {
    const folder here;
    listener ours({.path = here / "s"});
    ASSERT_EQ(::unlink((here / "s").c_str()), 0);
    listener theirs({.path = here / "s"});
    ours.close();
    EXPECT_TRUE(std::filesystem::exists(here / "s"));
    EXPECT_TRUE(stream::connect({.path = here / "s"}).is_open());
}

TEST_F(unix_socket_test, a_forked_process_accepts_with_the_same_listener_and_leaves_the_path) {
    const folder here;
    listener l({.path = here / "s"});
    const pid_t child = ::fork();
    if (child == 0) {
        auto peer = l.accept();
        peer.write_all("child");
        peer.close();
        l.close();
        ::_exit(0);
    }
    auto near = stream::connect({.path = here / "s"});
    EXPECT_EQ(near.read_until('!', 100), "child");
    int status = 1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(std::filesystem::exists(here / "s"));
    EXPECT_TRUE(stream::connect({.path = here / "s"}).is_open());
}

TEST_F(unix_socket_test, a_path_has_the_mode_that_was_asked_for) {
    const folder here;
    const listener l({.path = here / "s"}, {.mode = 0620});
    struct stat is {};
    ASSERT_EQ(::lstat((here / "s").c_str(), &is), 0);
    EXPECT_EQ(is.st_mode & 0777, 0620u);
}

TEST_F(unix_socket_test, a_listener_that_was_opened_elsewhere_is_taken_over) {
    const folder here;
    listener opened({.path = here / "s"});
    {
        auto l = listener::from_descriptor(::dup(opened.native_handle()));
        EXPECT_EQ(l.local(), opened.local());
        const auto near = stream::connect({.path = here / "s"});
        EXPECT_TRUE(l.accept().is_open());
    }
    EXPECT_TRUE(std::filesystem::exists(here / "s")) << "it is not its own";
    const tcp::listener other({.host = "127.0.0.1", .port = 0});
    EXPECT_THROW(static_cast<void>(listener::from_descriptor(other.native_handle())), std::system_error);
}

TEST_F(unix_socket_test, descriptors_travel_with_bytes_and_have_owners) {
    auto [near, far] = unix_socket::pair();
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    EXPECT_EQ(near.send(bytes_of("fd"), ends), 2u);
    ::close(ends[0]);
    ::close(ends[1]);
    std::array<std::byte, 8> room;
    auto got = far.receive(room, 8);
    EXPECT_EQ(got.count, 2u);
    EXPECT_FALSE(got.descriptors_lost);
    ASSERT_EQ(got.descriptors.size(), 2u);
    EXPECT_NE(::fcntl(got.descriptors[0].get(), F_GETFD) & FD_CLOEXEC, 0);
    EXPECT_EQ(::write(got.descriptors[1].get(), "x", 1), 1);
    char c = 0;
    EXPECT_EQ(::read(got.descriptors[0].get(), &c, 1), 1);
    EXPECT_EQ(c, 'x');
    ::close(got.descriptors[0].release());
}

TEST_F(unix_socket_test, no_descriptor_is_left_to_nobody) {
    auto [near, far] = unix_socket::pair();
    std::array<std::byte, 8> room;
    const int three[] = {near.native_handle(), far.native_handle(), near.native_handle()};
    near.send(bytes_of("a"), three);
    auto got = far.receive(room, 1);
    EXPECT_EQ(got.descriptors.size(), 1u);
    EXPECT_TRUE(got.descriptors_lost);
    near.send(bytes_of("b"), three);
    got = far.receive(room, 0);
    EXPECT_EQ(got.count, 1u);
    EXPECT_TRUE(got.descriptors_lost);
    near.send(bytes_of("c"), three);
    EXPECT_EQ(far.read_some(room), 1u) << "a plain read closes them";
    auto [one, other] = unix_socket::packet_pair();
    one.send(bytes_of("longer than the room"), three);
    std::error_code error;
    EXPECT_TRUE(other.receive(room, 3, error).descriptors.empty());
    EXPECT_EQ(error, std::errc::message_size);
    EXPECT_EQ(near.send({}, three, error), 0u);
    EXPECT_EQ(error, std::errc::invalid_argument);
    EXPECT_EQ(near.send(bytes_of("d"), std::vector<int>(254, near.native_handle()), error), 0u);
    EXPECT_EQ(error, std::errc::invalid_argument);
}

TEST_F(unix_socket_test, the_process_at_the_other_end_is_known) {
    auto [near, far] = unix_socket::pair();
    EXPECT_EQ(near.credentials().process, ::getpid());
    EXPECT_EQ(near.credentials().user, ::getuid());
    near.close();
    std::error_code error = untouched;
    EXPECT_EQ(near.credentials(error).process, 0);
    EXPECT_EQ(error, std::errc::bad_file_descriptor);
}

TEST_F(unix_socket_test, an_address_that_no_socket_can_have_is_refused) {
    EXPECT_THROW(stream::connect({}), std::invalid_argument);
    EXPECT_THROW(stream::connect({.path = "/a", .abstract = "b"}), std::invalid_argument);
    EXPECT_THROW(stream::connect({.path = "/" + std::string(107, 'a')}), std::invalid_argument);
    EXPECT_THROW(listener({.path = std::string("/a\0b", 4)}), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(unix_socket::address::of({.host = "example.org", .port = 80})), std::invalid_argument);
}

TEST_F(unix_socket_test, endpoints_name_unix_sockets_and_tcp_refuses_them) {
    for (const char* text : {"unix:/run/a b.sock", "unix:@name"}) {
        const auto e = net::endpoint::parse(text);
        EXPECT_EQ(e.host, text);
        EXPECT_EQ(to_string(e), text);
        EXPECT_EQ(unix_socket::address::of(e).endpoint(), e);
        std::error_code error = untouched;
        EXPECT_FALSE(tcp::stream::connect(e, error).is_open());
        EXPECT_EQ(error, std::errc::address_family_not_supported);
        EXPECT_FALSE(tcp::listener(e, error).is_open());
        EXPECT_EQ(error, std::errc::address_family_not_supported);
    }
    EXPECT_THROW(static_cast<void>(net::endpoint::parse("unix:@")), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(net::endpoint::parse("unix:/a\nb")), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(net::endpoint::parse("[unix:/a]:80")), std::invalid_argument);
    EXPECT_EQ(net::endpoint::parse("unix:80").port, 80) << "a host of that name";
}

TEST_F(unix_socket_test, streams_slide_under_what_takes_any_stream) {
    weft::run([] {
        const folder here;
        io::byte_listener l = listener({.path = here / "s"});
        io::byte_stream near = stream::connect(unix_socket::address::of(l.local()));
        io::byte_stream far = l.accept();
        near.write_all("x");
        EXPECT_NE(near.native_handle(), -1);
        select(on_readable(far));
        std::array<std::byte, 1> one;
        EXPECT_EQ(far.try_read_some(one), 1u);
        EXPECT_EQ(far.try_read_some(one), std::nullopt);
    });
}

}  // namespace
}  // namespace weft::test
