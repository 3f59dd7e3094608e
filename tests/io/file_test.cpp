// file_test.cpp - io::file and io::directory on a fiber, on a plain thread and in a simulation: what they return, and their errors.
#include <weft/io/file.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <weft/deadline.hpp>
#include <weft/io/buffered_reader.hpp>
#include <weft/io/directory.hpp>
#include <weft/io/pipe.hpp>
#include <weft/runtime.hpp>
#include <weft/scope.hpp>

#include "io/support/file_place.hpp"
#include "io/support/random_files.hpp"
#include "support/no_leaks.hpp"
#include "support/scale.hpp"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using io::directory;
using io::file;

enum class caller { fiber, thread, simulated };

/// Each test once on a fiber, once on a plain thread and once in a simulated runtime.
class files : public no_leaks, public ::testing::WithParamInterface<caller> {
protected:
    template <class F>
    void on_caller(F f) {
        switch (GetParam()) {
            case caller::fiber: return weft::run(f, {.workers = 2});
            case caller::thread: return f();
            case caller::simulated: return weft::run(f, {.simulate = simulation{.seed = 1}});
        }
    }
    file_place place;
};
INSTANTIATE_TEST_SUITE_P(by, files, ::testing::Values(caller::fiber, caller::thread, caller::simulated), [](const auto& each) {
    return each.param == caller::fiber ? "fiber" : each.param == caller::thread ? "thread" : "simulated";
});

std::span<std::byte> bytes_of(std::string& s) { return std::as_writable_bytes(std::span(s)); }

std::error_code code_of(auto&& f) {
    try {
        f();
    } catch (const std::system_error& e) {
        return e.code();
    }
    return {};
}

TEST_P(files, seed_R11_what_is_written_is_read) {
    on_caller([&] {
        auto f = file::open(place / "a", file::read | file::write | file::create);
        f.write_at("0123456789", 0);
        f.write_at(std::string_view("xyz"), 12);
        std::string all(20, '-');
        EXPECT_EQ(f.read_at(bytes_of(all), 0), 15u);
        EXPECT_EQ(all.substr(0, 15), std::string("0123456789\0\0xyz", 15));
        EXPECT_EQ(f.read_at(bytes_of(all), 15), 0u) << "the end of the file";
        EXPECT_EQ(f.read_at(bytes_of(all), 1000), 0u);
        EXPECT_EQ(f.read_at({}, 0), 0u);
        EXPECT_EQ(f.size(), 15u);
        f.sync();
        f.sync(file::data);
        f.truncate(4);
        EXPECT_EQ(f.read_all(), "0123");
        EXPECT_EQ(f.read_all(4), "0123");
        EXPECT_EQ(code_of([&] { (void)f.read_all(3); }), std::errc::file_too_large);
        f.close();
        EXPECT_FALSE(f.is_open());
        EXPECT_EQ(f.native_handle(), -1);
        EXPECT_EQ(code_of([&] { f.write_at("x", 0); }), std::errc::bad_file_descriptor);
    });
}

TEST_P(files, open_says_what_is_wrong) {
    on_caller([&] {
        EXPECT_EQ(code_of([&] { (void)file::open(place / "none"); }), std::errc::no_such_file_or_directory);
        EXPECT_EQ(code_of([&] { (void)file::open(std::string("a\0b", 3)); }), std::errc::invalid_argument);
        EXPECT_EQ(code_of([&] { (void)file::open(place / "x", file::create); }), std::errc::invalid_argument);
        { const auto made = file::open(place / "b", file::write | file::create | file::exclusive, 0600); }
        EXPECT_EQ(code_of([&] { (void)file::open(place / "b", file::write | file::create | file::exclusive); }),
                  std::errc::file_exists);
        EXPECT_EQ(::symlink("b", (place / "link").c_str()), 0);
        EXPECT_EQ(code_of([&] { (void)file::open(place / "link", file::read | file::no_follow); }),
                  std::errc::too_many_symbolic_link_levels);
        struct stat is {};
        ASSERT_EQ(::stat((place / "b").c_str(), &is), 0);
        EXPECT_EQ(is.st_mode & 0777, 0600u);
        std::error_code error;
        const auto none = file::open(place / "none", file::read, error);
        EXPECT_EQ(error, std::errc::no_such_file_or_directory);
        EXPECT_FALSE(none.is_open());
        try {
            (void)file::open(place / "none");
        } catch (const std::system_error& e) {
            EXPECT_NE(std::string(e.what()).find(place / "none"), std::string::npos) << e.what();
        }
    });
}

TEST_P(files, offsets_that_no_file_has_are_errors) {
    on_caller([&] {
        auto f = file::open(place / "a", file::read | file::write | file::create);
        std::string two(2, '-');
        constexpr auto last = std::numeric_limits<std::int64_t>::max();
        EXPECT_EQ(code_of([&] { f.read_at(bytes_of(two), static_cast<std::uint64_t>(-1)); }), std::errc::invalid_argument);
        EXPECT_EQ(code_of([&] { f.write_at("ab", static_cast<std::uint64_t>(last) + 1); }), std::errc::invalid_argument);
        EXPECT_EQ(code_of([&] { f.read_at(bytes_of(two), last - 1); }), std::errc::value_too_large);
        EXPECT_EQ(code_of([&] { f.write_at("ab", last - 2); }), std::errc::file_too_large);
        EXPECT_EQ(code_of([&] { f.truncate(static_cast<std::uint64_t>(-1)); }), std::errc::file_too_large);
        EXPECT_EQ(code_of([&] { f.allocate(static_cast<std::uint64_t>(last) + 1); }), std::errc::file_too_large);
        EXPECT_EQ(f.size(), 0u);
        const auto unreadable = file::open(place / "a", file::write);
        EXPECT_EQ(code_of([&] { unreadable.read_at(bytes_of(two), 0); }), std::errc::bad_file_descriptor);
    });
}

TEST_P(files, append_writes_at_the_end) {
    on_caller([&] {
        auto f = file::open(place / "log", file::write | file::create | file::append);
        f.write_at("one\n", 0);
        f.write_at("two\n", 0);
        EXPECT_EQ(file::read_whole(place / "log"), "one\ntwo\n");
        const auto again = file::open(place / "log", file::read | file::write | file::trunc);
        EXPECT_EQ(again.size(), 0u);
    });
}

TEST_P(files, allocate_makes_room) {
    on_caller([&] {
        auto f = file::open(place / "a", file::read | file::write | file::create);
        std::error_code error;
        f.allocate(10'000, error);
        if (error != std::errc::operation_not_supported) {
            EXPECT_FALSE(error) << error.message();
            EXPECT_EQ(f.size(), 10'000u);
            struct stat is {};
            ASSERT_EQ(::fstat(f.native_handle(), &is), 0);
            EXPECT_GE(is.st_blocks * 512, 10'000);
        }
    });
}

TEST_P(files, files_without_a_size_are_read_to_their_end) {
    on_caller([&] {
        const auto status = file::read_whole("/proc/self/status");
        EXPECT_NE(status.find("VmRSS"), std::string::npos);
        EXPECT_EQ(code_of([] { (void)file::read_whole("/dev/zero", 100'000); }), std::errc::file_too_large);
        EXPECT_EQ(code_of([] { (void)file::read_whole("/"); }), std::errc::is_a_directory);
    });
}

TEST_P(files, a_cursor_is_a_stream) {
    on_caller([&] {
        auto f = file::open(place / "lines", file::read | file::write | file::create);
        io::file_cursor to(f);
        io::write_all(to, "first\nsecond\n");
        io::write_all(to, "third");
        EXPECT_EQ(to.position(), 18u);
        io::file_cursor from(f);
        io::buffered_reader lines(from);
        EXPECT_EQ(lines.read_line(), "first");
        EXPECT_EQ(lines.read_line(), "second");
        io::file_cursor rest(f, 13);
        auto other = file::open(place / "rest", file::read | file::write | file::create);
        io::file_cursor copied(other);
        EXPECT_EQ(io::copy(rest, copied), 5u);
        EXPECT_EQ(other.read_all(), "third");
    });
}

TEST_P(files, a_whole_file_takes_the_place_of_another) {
    on_caller([&] {
        file::write_whole(place / "state", "one", 0640);
        EXPECT_EQ(file::read_whole(place / "state"), "one");
        ASSERT_EQ(::chmod((place / "state").c_str(), 0604), 0);
        const auto old = file::open(place / "state");
        file::write_whole(place / "state", "two");
        EXPECT_EQ(file::read_whole(place / "state"), "two");
        EXPECT_EQ(old.read_all(), "one") << "who has it open goes on with the old one";
        struct stat is {};
        ASSERT_EQ(::stat((place / "state").c_str(), &is), 0);
        EXPECT_EQ(is.st_mode & 0777, 0604u);
        directory::make(place / "d");
        EXPECT_EQ(code_of([&] { file::write_whole(place / "d", "x"); }), std::errc::is_a_directory);
        EXPECT_EQ(code_of([&] { file::write_whole(place / "none/x", "x"); }), std::errc::no_such_file_or_directory);
        EXPECT_EQ(directory::list(place.path()).size(), 2u) << "no temporary file is left";
    });
}

TEST_P(files, names_are_listed_changed_and_removed) {
    on_caller([&] {
        directory::make(place / "d");
        EXPECT_EQ(code_of([&] { directory::make(place / "d"); }), std::errc::file_exists);
        directory::make_all(place / "d/e//f/");
        directory::make_all(place / "d/e/f");
        file::write_whole(place / "d/one", "1");
        EXPECT_EQ(code_of([&] { directory::make_all(place / "d/one/x"); }), std::errc::file_exists);
        file::rename(place / "d/one", place / "d/two");
        ASSERT_EQ(::symlink("two", (place / "d/link").c_str()), 0);
        auto names = directory::list(place / "d");
        std::ranges::sort(names, {}, &io::directory_entry::name);
        ASSERT_EQ(names.size(), 3u);
        EXPECT_EQ(names[0].name + names[1].name + names[2].name, "elinktwo");
        EXPECT_EQ(names[0].kind, io::entry_kind::directory);
        EXPECT_EQ(names[1].kind, io::entry_kind::link);
        EXPECT_EQ(names[2].kind, io::entry_kind::file);
        EXPECT_EQ(code_of([&] { directory::remove(place / "d"); }), std::errc::directory_not_empty);
        EXPECT_EQ(code_of([&] { file::remove(place / "d"); }), std::errc::is_a_directory);
        EXPECT_EQ(code_of([&] { file::remove(place / "none"); }), std::errc::no_such_file_or_directory);
        EXPECT_EQ(code_of([&] { file::rename(place / "none", place / "x"); }), std::errc::no_such_file_or_directory);
        EXPECT_EQ(code_of([&] { (void)directory::list(place / "d/two"); }), std::errc::not_a_directory);
        EXPECT_EQ(code_of([&] { file::remove(std::string("a\0b", 3)); }), std::errc::invalid_argument);
        file::remove(place / "d/two");
        file::remove(place / "d/link");
        directory::remove(place / "d/e/f");
        directory::sync(place / "d");
        EXPECT_EQ(directory::list(place / "d").size(), 1u);
    });
}

TEST_P(files, stress_random_programs_agree_with_memory_and_pread) {
    const seed s;
    on_caller([&] { random_file_program(place / "random", s.of(0)).run(scaled(200, 2)); });
}

// ---- what needs a fiber

class file_fibers : public no_leaks {
protected:
    file_place place;
};

TEST_F(file_fibers, past_the_page_cache_with_aligned_buffers) {
    struct freed {
        void operator()(std::byte* b) const { std::free(b); }
    };
    const std::unique_ptr<std::byte, freed> memory(static_cast<std::byte*>(std::aligned_alloc(4096, 8192)));
    const std::span two(memory.get(), 8192);
    const std::string where = place / "direct";
    file::write_whole(where, std::string(5000, 'x'));
    weft::run([&] {
        std::error_code error;
        const auto f = file::open(where, file::read | file::direct, error);
        if (error == std::errc::invalid_argument) return;  // the file system has no such thing
        ASSERT_FALSE(error) << error.message();
        EXPECT_EQ(f.read_at(two, 0), 5000u) << "the last block is not whole";
        EXPECT_EQ(f.read_at(two.first(4096), 4096), 904u);
        EXPECT_EQ(f.read_at(two, 8192), 0u);
        EXPECT_EQ(code_of([&] { f.read_at(two.subspan(1, 4096), 0); }), std::errc::invalid_argument);
    });
}

/// The system has some threads for opens that wait. They must not run out, or the opens that these wait for
/// would wait as well.
TEST_F(file_fibers, opens_that_wait_hold_up_no_others) {
    constexpr int many = 60;  // more than the four for each CPU that the system has by itself
    for (int i = 0; i < many; ++i) ASSERT_EQ(::mkfifo((place / ("fifo" + std::to_string(i))).c_str(), 0600), 0);
    weft::run([&] {
        with_timeout(30s, [&] {
            with_scope([&](scope& s) {
                for (int i = 0; i < many; ++i)
                    s.spawn([&, i] { EXPECT_TRUE(file::open(place / ("fifo" + std::to_string(i)), file::read).is_open()); });
                this_fiber::sleep_for(20ms);  // they wait by then
                file::write_whole(place / "plain", "text");
                EXPECT_EQ(file::read_whole(place / "plain"), "text");
                for (int i = 0; i < many; ++i)
                    s.spawn([&, i] { EXPECT_TRUE(file::open(place / ("fifo" + std::to_string(i)), file::write).is_open()); });
            });
        });
    });
}

TEST_F(file_fibers, a_file_may_be_closed_under_its_readers) {
    weft::run([&] {
        file::write_whole(place / "a", std::string(100'000, 'x'));
        for (int round = 0; round < scaled(50); ++round) {
            auto f = file::open(place / "a");
            with_scope([&](scope& all) {
                for (int i = 0; i < 8; ++i)
                    all.spawn([&] {
                        std::string into(1000, '-');
                        std::error_code error;
                        while (!error) f.read_at(bytes_of(into), 500, error);
                        EXPECT_EQ(error, std::errc::bad_file_descriptor);
                    });
                this_fiber::sleep_for(std::chrono::microseconds(200));
                f.close();
            });
        }
    });
}

TEST_F(file_fibers, a_part_goes_into_a_pipe_and_into_any_other_stream) {
    weft::run([&] {
        std::string text(700'000, ' ');
        for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + i % 23);
        file::write_whole(place / "a", text);
        const auto f = file::open(place / "a");
        const auto sent_by = [&](std::uint64_t offset, std::uint64_t length) {
            io::pipe through;
            auto& from = through.reader;
            auto& to = through.writer;
            std::string got;
            with_scope([&](scope& both) {
                auto sender = both.spawn([&, &out = to] {
                    EXPECT_EQ(file::copy(out, f, offset, length),
                              offset < text.size() ? std::min<std::uint64_t>(length, text.size() - offset) : 0);
                    out.close();
                });
                std::array<std::byte, 4096> into;
                while (const auto n = from.read_some(into)) got.append(reinterpret_cast<const char*>(into.data()), n);
            });
            return got;
        };
        ::posix_fadvise(f.native_handle(), 0, 0, POSIX_FADV_DONTNEED);
        EXPECT_EQ(sent_by(0, file::to_end), text);
        EXPECT_EQ(sent_by(300'001, 100'000), text.substr(300'001, 100'000));
        EXPECT_EQ(sent_by(text.size(), 5), "");
        EXPECT_EQ(sent_by(text.size() + 5, 5), "");
        auto copied = file::open(place / "b", file::read | file::write | file::create);
        io::file_cursor to(copied);
        EXPECT_EQ(file::copy(to, f, 10), text.size() - 10);
        EXPECT_EQ(copied.read_all(), text.substr(10));
        auto closed = file();
        std::error_code error;
        EXPECT_EQ(file::copy(to, closed, 0, error), 0u);
        EXPECT_EQ(error, std::errc::bad_file_descriptor);
        const auto proc = file::open("/proc/self/status");
        EXPECT_GT(file::copy(to, proc), 100u);
    });
}

}  // namespace
}  // namespace weft::test
