// descriptor_test.cpp - descriptors that weft has not made: waited for by fibers and threads, adopted or borrowed, as cases of a select.
#include <weft/io/descriptor.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include <weft/deadline.hpp>
#include <weft/fiber.hpp>
#include <weft/runtime.hpp>
#include <weft/select.hpp>

#include "support/eventually.hpp"
#include "support/no_leaks.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

using io::descriptor;

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

std::string piece_of(descriptor& from) {
    std::array<std::byte, 64> piece;
    return {reinterpret_cast<const char*>(piece.data()), from.read_some(piece)};
}

bool is_non_blocking(int fd) { return (::fcntl(fd, F_GETFL) & O_NONBLOCK) != 0; }
bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

struct raw_pipe {
    raw_pipe() { EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0); }
    std::array<int, 2> ends{};
};

/// A UDP socket of this machine, and where it is.
struct udp_socket {
    udp_socket() : fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
        socklen_t size = sizeof address;
        EXPECT_EQ(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
    }
    void send_to(const udp_socket& other, const std::string& text) const {
        EXPECT_EQ(
            ::sendto(fd, text.data(), text.size(), 0, reinterpret_cast<const sockaddr*>(&other.address), sizeof other.address),
            static_cast<ssize_t>(text.size()));
    }
    int fd;
    sockaddr_in address{};
};

class descriptors : public on_workers {
protected:
    watched_runtime rt{GetParam()};
};
WEFT_ON_1_2_4_8_WORKERS(descriptors);

TEST_P(descriptors, an_eventfd_is_waited_for_and_read) {
    rt.run([] {
        auto event = descriptor::adopt(::eventfd(0, EFD_CLOEXEC));
        EXPECT_TRUE(is_non_blocking(event.native_handle()));
        auto waiter = spawn([&] {
            event.wait_readable();
            event.wait_readable();  // it is still ready
            std::uint64_t count = 0;
            EXPECT_EQ(event.read_some(std::as_writable_bytes(std::span(&count, 1))), sizeof count);
            return count;
        });
        this_fiber::sleep_for(1ms);
        const std::uint64_t three = 3;
        EXPECT_EQ(event.write_some(std::as_bytes(std::span(&three, 1))), sizeof three);
        EXPECT_EQ(waiter.join(), 3u);
        for (std::uint64_t n = 1; n <= 100; ++n) {  // each time anew
            auto again = spawn([&] { event.wait_readable(); });
            this_fiber::yield();
            event.write_some(std::as_bytes(std::span(&n, 1)));
            again.join();
            std::uint64_t count = 0;
            event.read_some(std::as_writable_bytes(std::span(&count, 1)));
            EXPECT_EQ(count, n);
        }
    });
}

TEST_P(descriptors, a_pipe_is_full_and_empty_and_ends) {
    rt.run([] {
        const raw_pipe p;
        auto reader = descriptor::adopt(p.ends[0]);
        auto writer = descriptor::adopt(p.ends[1]);
        const std::string much(1 << 20, 'x');
        auto all = spawn([&] {
            std::size_t n = 0;
            std::array<std::byte, 5000> piece;
            while (const auto more = reader.read_some(piece)) n += more;
            return n;
        });
        writer.write_all(much);
        writer.wait_writable();
        writer.close();
        EXPECT_EQ(all.join(), much.size());
        EXPECT_THROW(writer.wait_writable(), std::system_error);
        std::error_code error;
        writer.wait_writable(error);
        EXPECT_EQ(error, std::errc::bad_file_descriptor);
    });
}

TEST_P(descriptors, a_writer_without_readers_is_told_and_gets_no_signal) {
    rt.run([] {
        const raw_pipe p;
        auto writer = descriptor::adopt(p.ends[1]);
        ::close(p.ends[0]);
        writer.wait_writable();
        std::error_code error;
        EXPECT_EQ(writer.write_some(bytes_of("x"), error), 0u);
        EXPECT_EQ(error, std::errc::broken_pipe);
    });
}

TEST_P(descriptors, inotify_tells_of_a_file) {
    rt.run([] {
        std::string directory = ::testing::TempDir() + "weft-XXXXXX";
        ASSERT_NE(::mkdtemp(directory.data()), nullptr);
        auto changes = descriptor::adopt(::inotify_init1(IN_CLOEXEC));
        ASSERT_GE(::inotify_add_watch(changes.native_handle(), directory.c_str(), IN_CREATE), 0);
        auto waiter = spawn([&] {
            changes.wait_readable();
            alignas(inotify_event) std::array<std::byte, 512> events;
            const auto n = changes.read_some(events);
            EXPECT_GE(n, sizeof(inotify_event));
            return std::string(reinterpret_cast<const inotify_event*>(events.data())->name);
        });
        this_fiber::sleep_for(1ms);
        ::close(::open((directory + "/new").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
        EXPECT_EQ(waiter.join(), "new");
        ::unlink((directory + "/new").c_str());
        ::rmdir(directory.c_str());
    });
}

TEST_P(descriptors, a_udp_socket_that_a_library_reads_is_borrowed) {
    rt.run([] {
        const udp_socket here, there;
        auto arrivals = descriptor::borrow(here.fd);
        EXPECT_FALSE(is_non_blocking(here.fd)) << "its mode is its owner's";
        auto receiver = spawn([&] {
            std::string text;
            for (int i = 0; i < 50; ++i) {
                arrivals.wait_readable();
                std::array<char, 16> datagram;
                const auto n = ::recv(here.fd, datagram.data(), datagram.size(), MSG_DONTWAIT);  // as a library would
                EXPECT_EQ(n, 1);
                text.append(datagram.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
            }
            return text;
        });
        for (int i = 0; i < 50; ++i) {
            there.send_to(here, "d");
            if (i % 3 == 0) this_fiber::yield();
        }
        EXPECT_EQ(receiver.join(), std::string(50, 'd'));
        arrivals.close();
        EXPECT_TRUE(is_open(here.fd));
        ::close(here.fd);
        ::close(there.fd);
    });
}

TEST_P(descriptors, several_may_borrow_one_and_all_hear_of_it) {
    rt.run([] {
        const int fd = ::eventfd(0, EFD_CLOEXEC);
        std::vector<fiber<>> all;
        for (int i = 0; i < 5; ++i)
            all.push_back(spawn([fd] {
                auto mine = descriptor::borrow(fd);
                mine.wait_readable();
            }));
        this_fiber::sleep_for(1ms);
        const std::uint64_t one = 1;
        EXPECT_EQ(::write(fd, &one, sizeof one), static_cast<ssize_t>(sizeof one));
        for (auto& f : all) f.join();
        ::close(fd);
    });
}

TEST_P(descriptors, a_borrowed_one_in_blocking_mode_keeps_no_thread) {
    rt.run([] {
        const raw_pipe p;
        {
            auto reader = descriptor::borrow(p.ends[0]);
            auto writer = descriptor::borrow(p.ends[1]);
            auto first = spawn([&] { return piece_of(reader); });
            this_fiber::sleep_for(1ms);
            EXPECT_EQ(writer.write_some(bytes_of("said")), 4u);
            EXPECT_EQ(first.join(), "said");
            auto rest = spawn([&] {
                std::size_t n = 0;
                while (n < 200'000) n += piece_of(reader).size();
            });
            writer.write_all(std::string(200'000, 'x'));  // more than fits
            rest.join();
        }
        EXPECT_TRUE(is_open(p.ends[0]) && is_open(p.ends[1]));
        for (const int fd : p.ends) ::close(fd);
    });
}

TEST_P(descriptors, a_wait_has_deadlines_and_can_be_stopped) {
    rt.run([] {
        auto event = descriptor::adopt(::eventfd(0, EFD_CLOEXEC));
        EXPECT_THROW(with_timeout(2ms, [&] { event.wait_readable(); }), timeout_error);
        with_deadline(std::chrono::steady_clock::now() + 2ms, [&] {
            std::error_code error;
            event.wait_readable(error);
            EXPECT_EQ(error, std::errc::timed_out);
        });
        auto waiter = spawn([&] {
            std::error_code error;
            event.wait_readable(error);
            return error;
        });
        this_fiber::sleep_for(1ms);
        waiter.request_stop();
        EXPECT_EQ(waiter.join(), std::errc::operation_canceled);
        auto closed = spawn([&] {
            std::error_code error;
            event.wait_readable(error);
            return error;
        });
        this_fiber::sleep_for(1ms);
        event.close();
        EXPECT_EQ(closed.join(), std::errc::bad_file_descriptor);
    });
}

TEST_P(descriptors, are_cases_of_a_select_to_read_and_to_write) {
    rt.run([] {
        const raw_pipe p;
        auto reader = descriptor::adopt(p.ends[0]);
        auto writer = descriptor::adopt(p.ends[1]);
        std::string happened;
        select(on_readable(reader, [&] { happened = "readable"; }), on_writable(writer, [&] { happened = "writable"; }));
        EXPECT_EQ(happened, "writable");

        std::array<std::byte, 4096> block{};
        std::error_code full;
        with_deadline(std::chrono::steady_clock::now() + 200ms, [&] {
            while (!full) writer.write_some(block, full);
        });
        select(on_writable(writer, [&] { happened = "writable"; }), on_timeout(2ms, [&] { happened = "full"; }));
        EXPECT_EQ(happened, "full") << full.message();

        auto taker = spawn([&] {
            std::array<std::byte, 65536> taken;
            for (int i = 0; i < 4; ++i) select(on_readable(reader, [&] { reader.read_some(taken); }), on_timeout(10ms));
        });
        select(on_writable(writer, [&] { happened = "writable"; }), on_timeout(10s, [&] { happened = "full"; }));
        EXPECT_EQ(happened, "writable");
        taker.join();
    });
}

TEST_P(descriptors, files_on_a_disk_are_refused) {
    rt.run([] {
        std::FILE* const file = std::tmpfile();
        const int fd = ::fileno(file);
        using maker = descriptor (*)(int);
        for (const maker make : {maker{&descriptor::adopt}, maker{&descriptor::borrow}}) {
            try {
                auto d = make(fd);
                ADD_FAILURE() << "no refusal";
            } catch (const std::system_error& e) {
                EXPECT_EQ(e.code(), std::errc::invalid_argument);
                EXPECT_NE(std::string(e.what()).find("weft::blocking"), std::string::npos);
            }
            EXPECT_TRUE(is_open(fd));
            EXPECT_THROW(make(-1), std::system_error);
        }
        std::fclose(file);
    });
}

TEST(descriptor, a_plain_thread_waits_too) {
    auto event = descriptor::adopt(::eventfd(0, EFD_CLOEXEC));
    std::thread waker([&] {
        std::this_thread::sleep_for(2ms);
        const std::uint64_t one = 1;
        event.write_some(std::as_bytes(std::span(&one, 1)));
    });
    event.wait_readable();
    event.wait_writable();
    waker.join();
    EXPECT_FALSE(descriptor().is_open());
    EXPECT_THROW(descriptor().wait_readable(), std::system_error);
}

}  // namespace
}  // namespace weft::test
