// file_engine_test.cpp - how an operation on a file waits: what ends the wait, who owns the buffer meanwhile, what a dump shows, and that the same
// holds where the system refuses io_uring.
#include "io/files/file_engine.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <linux/io_uring.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <weft/deadline.hpp>
#include <weft/dump.hpp>
#include <weft/io/directory.hpp>
#include <weft/io/file.hpp>
#include <weft/runtime.hpp>
#include <weft/scope.hpp>

#include "hazards/support/forked.hpp"
#include "hazards/support/refusal.hpp"
#include "io/support/file_place.hpp"
#include "io/support/random_files.hpp"
#include "support/eventually.hpp"
#include "support/no_leaks.hpp"
#include "support/scale.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

using io::file;

constexpr std::size_t block = 4096;

/// A buffer for open_mode::direct.
class aligned_block {
public:
    std::span<std::byte> bytes() { return {memory_.get(), block}; }

private:
    struct freed {
        void operator()(std::byte* b) const { std::free(b); }
    };
    const std::unique_ptr<std::byte, freed> memory_{static_cast<std::byte*>(std::aligned_alloc(block, block))};
};

bool has_thread(const std::string& name) {
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::string its;
        std::ifstream(task.path() / "comm") >> its;
        if (its == name) return true;
    }
    return false;
}

/// The byte at each place of a block says which block it is.
std::byte sign_of(std::size_t number) { return static_cast<std::byte>(number * 7 + 1); }

void make_signed_blocks(const std::string& path, std::size_t blocks) {
    std::string text;
    for (std::size_t i = 0; i < blocks; ++i) text.append(block, static_cast<char>(sign_of(i)));
    file::write_whole(path, text);
}

class file_engine : public no_leaks {
protected:
    file_place place;
};

TEST_F(file_engine, FILE_ENGINE_1_what_is_not_in_memory_is_read_by_the_ring_or_the_pool) {
    make_signed_blocks(place / "a", 64);
    watched_runtime rt(1);
    rt.run([&] {
        const auto f = file::open(place / "a");
        EXPECT_EQ(has_thread("weft/files"), ring_is_here()) << "open() is not served at once";
        for (std::size_t i = 0; i < 64; ++i) {
            ::posix_fadvise(f.native_handle(), 0, 0, POSIX_FADV_DONTNEED);
            std::array<std::byte, block> into;
            ASSERT_EQ(f.read_at(into, i * block), block);
            ASSERT_EQ(into.front(), sign_of(i));
            ASSERT_EQ(into.back(), sign_of(i));
        }
    });
}

/// A file that nobody writes to cannot be opened for reading: that is a wait as long as the test likes.
class file_that_waits {
public:
    explicit file_that_waits(const std::string& path) : path_(path) { EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0); }
    const std::string& path() const { return path_; }
    void end_wait() { other_side_ = std::make_unique<file>(file::adopt(::open(path_.c_str(), O_RDWR | O_CLOEXEC))); }

private:
    const std::string path_;
    std::unique_ptr<file> other_side_;
};

TEST_F(file_engine, FILE_OPERATION_2_a_deadline_cancels_what_the_kernel_can_cancel) {
    file_that_waits w(place / "fifo");
    weft::run([&] {
        if (!ring_is_here()) return;
        std::error_code error;
        EXPECT_THROW(with_timeout(5ms, [&] { (void)file::open(w.path()); }), timeout_error);
        with_deadline(std::chrono::steady_clock::now() + 5ms, [&] { (void)file::open(w.path(), file::read, error); });
        EXPECT_EQ(error, std::errc::timed_out);
        auto stopped = spawn([&] { (void)file::open(w.path()); });
        this_fiber::sleep_for(2ms);
        stopped.request_stop();
        EXPECT_THROW(stopped.join(), fiber_cancelled);
        w.end_wait();
        EXPECT_TRUE(file::open(w.path()).is_open());
    });
}

TEST_F(file_engine, FILE_OPERATION_2_a_shield_keeps_a_stop_from_it) {
    file_that_waits w(place / "fifo");
    weft::run([&] {
        auto f = spawn([&] {
            const shield until_open;
            return file::open(w.path()).is_open();
        });
        this_fiber::sleep_for(2ms);
        f.request_stop();
        this_fiber::sleep_for(5ms);
        EXPECT_FALSE(f.done());
        w.end_wait();
        EXPECT_TRUE(f.join());
    });
}

TEST_F(file_engine, a_dump_names_the_wait_and_the_file) {
    file_that_waits w(place / "fifo");
    watched_runtime rt(2);
    auto opener = rt.spawn({.name = "opener"}, [&] { return file::open(w.path()).is_open(); });
    EXPECT_TRUE(eventually([&] {
        std::ostringstream text;
        dump(text);
        return text.str().find("waiting for file: open()") != std::string::npos;
    }));
    w.end_wait();
    EXPECT_TRUE(opener.join());
}

/// Reads of which many are cancelled: none of them writes to a buffer after it was given back, and none gives what another has asked for.
void storm(const std::string& path, std::size_t blocks, bool direct, const seed& s) {
    std::error_code error;
    const auto f = file::open(path, direct ? file::read | file::direct : file::read, error);
    if (error == std::errc::invalid_argument) return;  // no direct access on this file system
    std::atomic<int> read{0}, cancelled_reads{0};
    const auto one_reader = [&](unsigned who) {
        auto random = s.of(who);
        aligned_block mine;
        for (int i = 0; i < scaled(30, 2); ++i) {
            const auto number = below(random, static_cast<unsigned>(blocks));
            std::ranges::fill(mine.bytes(), std::byte{0});
            std::error_code failed;
            const auto n = with_deadline(std::chrono::steady_clock::now() + up_to(random, 150us),
                                         [&] { return f.read_at(mine.bytes(), number * block, failed); });
            const std::vector<std::byte> then(mine.bytes().begin(), mine.bytes().end());
            if (failed) {
                ASSERT_EQ(failed, std::errc::timed_out);
                ++cancelled_reads;
            } else {
                ++read;
                ASSERT_EQ(n, block);
                ASSERT_TRUE(std::ranges::all_of(then, [&](std::byte b) { return b == sign_of(number); }));
            }
            this_fiber::yield();
            ASSERT_TRUE(std::ranges::equal(then, mine.bytes())) << "the kernel has written to a buffer that was given back";
        }
    };
    with_scope([&](scope& all) {
        for (unsigned i = 0; i < 40; ++i) all.spawn([&, i] { one_reader(i); });
        if (!direct)
            all.spawn([&] {
                for (int i = 0; i < 50; ++i) {
                    ::posix_fadvise(f.native_handle(), 0, 0, POSIX_FADV_DONTNEED);
                    this_fiber::sleep_for(200us);
                }
            });
    });
    std::printf("%d read, %d cancelled\n", read.load(), cancelled_reads.load());
}

/// Stops come at any time; the buffers are on the stacks of the fibers.
void stopped_readers(const std::string& path, std::size_t blocks, const seed& s) {
    auto random = s.of(1000);
    const auto f = file::open(path);
    for (int round = 0; round < scaled(20, 2); ++round) {
        ::posix_fadvise(f.native_handle(), 0, 0, POSIX_FADV_DONTNEED);
        std::vector<fiber<void>> readers;
        for (unsigned i = 0; i < 32; ++i)
            readers.push_back(spawn([&, i] {
                std::array<std::byte, block> into;
                for (std::size_t at = i;; at = (at + 17) % blocks) {
                    f.read_at(into, at * block);
                    if (into.front() != sign_of(at) || into.back() != sign_of(at)) std::abort();
                    this_fiber::yield();
                }
            }));
        this_fiber::sleep_for(up_to(random, 500us));
        for (auto& r : readers) r.request_stop();
        for (auto& r : readers) EXPECT_THROW(r.join(), fiber_cancelled);
    }
}

TEST_F(file_engine, FILE_OPERATION_1_stress_cancelled_reads_leave_no_buffer_behind) {
    constexpr std::size_t blocks = 512;
    const seed s;
    make_signed_blocks(place / "a", blocks);
    weft::run(
        [&] {
            storm(place / "a", blocks, true, s);
            storm(place / "a", blocks, false, s);
            stopped_readers(place / "a", blocks, s);
        },
        {.workers = 2});
}

TEST_F(file_engine, FILE_ENGINE_2_more_readers_than_the_ring_has_room_for) {
    constexpr std::size_t blocks = 64;
    make_signed_blocks(place / "a", blocks);
    weft::run([&] {
        const auto f = file::open(place / "a");
        ::posix_fadvise(f.native_handle(), 0, 0, POSIX_FADV_RANDOM);
        ::posix_fadvise(f.native_handle(), 0, 0, POSIX_FADV_DONTNEED);
        std::atomic<unsigned> good{0};
        const unsigned readers = 4 * detail::file_engine::depth;
        with_scope([&](scope& all) {
            for (unsigned i = 0; i < readers; ++i)
                all.spawn([&, i] {
                    std::byte one{};
                    if (f.read_at({&one, 1}, i % blocks * block + i) == 1 && one == sign_of((i % blocks * block + i) / block))
                        ++good;
                });
        });
        EXPECT_EQ(good, readers);
    });
}

TEST_F(file_engine, FILE_ENGINE_4_runtimes_come_and_go) {
    for (int i = 0; i < 10; ++i) weft::run([&] { file::write_whole(place / "a", std::to_string(i)); });
    EXPECT_EQ(file::read_whole(place / "a"), "9");
    EXPECT_FALSE(has_thread("weft/files"));
}

TEST(file_engine_that_forks, FILE_ENGINE_4_a_child_has_neither_the_ring_nor_the_thread_and_reads_all_the_same) {
    const file_place place;
    make_signed_blocks(place / "a", 8);
    weft::run([&] {
        const auto f = file::open(place / "a");
        ::posix_fadvise(f.native_handle(), 0, 0, POSIX_FADV_DONTNEED);
        const auto child = ::fork();
        if (child == 0) {
            hang_no_longer_than(most_seconds);
            WEFT_CHILD_MUST(f.read_all().size() == 8 * block);
            file::write_whole(place / "of child", "x");
            WEFT_CHILD_MUST(!has_thread("weft/files"));
#if !WEFT_UNDER_ASAN && !WEFT_UNDER_TSAN  // whose children start no threads
            runtime own({.workers = 1});
            own.run([&] { WEFT_CHILD_MUST(file::read_whole(place / "of child") == "x"); });
            WEFT_CHILD_MUST(has_thread("weft/files") == ring_is_here());
#endif
            ::_exit(0);
        }
        EXPECT_EQ(end_of(child), 0);
        EXPECT_EQ(file::read_whole(place / "of child"), "x") << "the parent goes on";
    });
}

// ---- without io_uring

/// Everything again on a runtime whose ring is refused by `error`; ends the process.
void without_ring(int error, std::initializer_list<long> calls) {
    refuse(calls, error);
    file_place place;
    const seed s;
    make_signed_blocks(place / "a", 64);
    // posix_fadvise() blocks now and then, which is not what is looked for here.
    weft::run(
        [&] {
            random_file_program(place / "random", s.of(0)).run(scaled(200, 4));
            storm(place / "a", 64, true, s);
            storm(place / "a", 64, false, s);
            stopped_readers(place / "a", 64, s);
            WEFT_MUST(!has_thread("weft/files"));
            WEFT_MUST(io::directory::list(place.path()).size() == 2);
        },
        {.on_hog = [](const hog_report&) {}});
    weft::run([&] { WEFT_MUST(file::read_whole(place / "a").size() == 64 * block); });  // and says it no second time
    std::filesystem::remove_all(place.path());
    leave(::testing::Test::HasFailure() ? 1 : 0);
}

class refused_ring : public ::testing::Test {
protected:
    refused_ring() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

constexpr const char* one_line = "^weft: no io_uring here \\([A-Za-z ]+\\); files are read and written on threads of a pool\n$";

TEST_F(refused_ring, FILE_ENGINE_5_the_pool_does_the_same_and_one_line_says_so) {
    EXPECT_EXIT(without_ring(EPERM, {SYS_io_uring_setup}), testing::ExitedWithCode(0), one_line);
    EXPECT_EXIT(without_ring(ENOSYS, {SYS_io_uring_setup}), testing::ExitedWithCode(0), one_line);
}
TEST_F(refused_ring, FILE_ENGINE_5_a_ring_that_may_be_made_and_not_used_is_refused) {
    EXPECT_EXIT(without_ring(EPERM, {SYS_io_uring_enter}), testing::ExitedWithCode(0), one_line);
}
TEST_F(refused_ring, old_kernels_have_no_preadv2_either) {
    EXPECT_EXIT(without_ring(ENOSYS, {SYS_io_uring_setup, SYS_preadv2, SYS_pwritev2}), testing::ExitedWithCode(0), one_line);
}

}  // namespace
}  // namespace weft::test
