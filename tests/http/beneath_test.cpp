// beneath_test.cpp - nothing outside of a directory is opened, whichever way paths are resolved.
#include "http/beneath.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <thread>

#include "http/support/folder.hpp"
#include "no_leaks.hpp"

namespace {

using namespace weft;
using detail::beneath;

class opens_beneath : public test::no_leaks, public testing::WithParamInterface<beneath::way> {
protected:
    opens_beneath() {
        outside.write("secret", "secret");
        inside.write("a", "text of a");
        inside.write("d/e/f", "text of f");
        root.emplace(inside.path(), GetParam());
    }
    std::string text(const std::string& path) const {
        const auto file = root->open(path);
        if (!file) return "-";
        if (!S_ISREG(file->status.st_mode)) return "no file";
        std::string all(static_cast<std::size_t>(file->status.st_size), ' ');
        EXPECT_EQ(::pread(file->descriptor.get(), all.data(), all.size(), 0), file->status.st_size);
        return all;
    }
    void link(const std::string& to, std::string_view name) const { std::filesystem::create_symlink(to, inside.path(name)); }

    test::folder outside, inside;
    std::optional<beneath> root;
};
INSTANTIATE_TEST_SUITE_P(ways, opens_beneath,
                         testing::Values(beneath::way::as_possible, beneath::way::walk, beneath::way::walk_without_proc),
                         [](const auto& way) {
                             return way.param == beneath::way::as_possible ? "as_possible"
                                    : way.param == beneath::way::walk      ? "walking"
                                                                           : "walking_without_proc";
                         });

TEST_P(opens_beneath, what_lies_there) {
    EXPECT_EQ(text("a"), "text of a");
    EXPECT_EQ(text("d/e/f"), "text of f");
    EXPECT_TRUE(S_ISDIR(root->open("")->status.st_mode));
    EXPECT_TRUE(S_ISDIR(root->open("d/e")->status.st_mode));
    for (const char* none : {"b", "a/b", "d/e/f/g", "d/x/f"}) EXPECT_EQ(text(none), "-") << none;
    EXPECT_EQ(text(std::string("a\0b", 3)), "-");
    EXPECT_EQ(text(std::string(5000, 'x')), "-");
}

TEST_P(opens_beneath, BENEATH_1_nothing_outside) {
    const auto name = std::filesystem::path(outside.path()).filename().string();
    for (const std::string& out :
         {std::string(".."), "../" + name + "/secret", "d/../../" + name + "/secret", outside.path("secret")})
        EXPECT_EQ(text(out), "-") << out;
    link(outside.path("secret"), "absolute");
    link("../" + name + "/secret", "relative");
    link(outside.path(), "folder");
    link("/proc/self/fd", "magic");
    for (const char* led : {"absolute", "relative", "folder/secret", "folder", "magic/0", "magic"})
        EXPECT_EQ(text(led), "-") << led;
}

TEST_P(opens_beneath, links_that_stay_inside_only_where_the_kernel_checks_them) {
    link("d/e/f", "within");
    link("d", "into");
    const bool walks = GetParam() != beneath::way::as_possible;
    if (!walks && text("within") == "-") GTEST_SKIP() << "no openat2 here";
    EXPECT_EQ(text("within"), walks ? "-" : "text of f");
    EXPECT_EQ(text("into/e/f"), walks ? "-" : "text of f");
}

/// Whether a thread of this process sleeps.
bool sleeps(pid_t thread) {
    std::ifstream in("/proc/self/task/" + std::to_string(thread) + "/stat");
    const std::string all(std::istreambuf_iterator<char>(in), {});
    const auto end_of_name = all.rfind(") ");
    return end_of_name != all.npos && all.substr(end_of_name + 2, 1) == "S";
}

TEST_P(opens_beneath, BENEATH_2_no_fifo_whose_writer_would_notice) {
    const auto fifo = inside.path("fifo");
    ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
    EXPECT_EQ(text("fifo"), "-");
    std::atomic<pid_t> id{0};
    std::atomic<bool> is_released{false};
    std::thread writer([&] {
        id = ::gettid();
        const int fd = ::open(fifo.c_str(), O_WRONLY | O_CLOEXEC);  // waits for a reader
        is_released = true;
        ::close(fd);
    });
    while (id == 0 || !sleeps(id)) std::this_thread::yield();
    EXPECT_EQ(text("fifo"), "-");
    for (int i = 0; i < 1000 && !is_released; ++i) std::this_thread::yield();
    EXPECT_FALSE(is_released);
    const int reader = ::open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    writer.join();
    ::close(reader);
}

TEST_P(opens_beneath, a_file_that_is_replaced_all_the_time) {
    std::filesystem::create_symlink("../a", inside.path("d/up"));
    std::atomic<bool> is_over{false};
    std::thread replaces([&] {
        for (int i = 0; !is_over; ++i) {
            inside.write("new", i % 2 == 0 ? "even" : "odd");
            std::filesystem::rename(inside.path("new"), inside.path("a"));
        }
    });
    for (int i = 0; i < 2000; ++i) {
        EXPECT_NO_THROW((void)root->open("d/up"));
        const auto file = root->open("a");
        if (!file) {
            // Found under its name, it was another one each time that it was to be read.
            EXPECT_EQ(GetParam(), beneath::way::walk_without_proc);
            continue;
        }
        struct stat s {};
        EXPECT_EQ(::fstat(file->descriptor.get(), &s), 0);
        EXPECT_EQ(s.st_ino, file->status.st_ino);
    }
    is_over = true;
    replaces.join();
}

TEST(beneath, tells_failures_of_a_path_from_those_of_the_system) {
    for (const int of_path : {ENOENT, EACCES, ELOOP, ESTALE, ENOKEY}) EXPECT_TRUE(detail::is_of_path(of_path)) << of_path;
    for (const int other : {EMFILE, ENFILE, ENOMEM, EIO, EAGAIN}) EXPECT_FALSE(detail::is_of_path(other)) << other;
}

TEST_P(opens_beneath, keeps_its_directory_when_that_is_renamed) {
    const auto elsewhere = outside.path("moved");
    std::filesystem::rename(inside.path(), elsewhere);
    EXPECT_EQ(text("a"), "text of a");
    std::filesystem::rename(elsewhere, inside.path());
}

TEST_P(opens_beneath, says_when_descriptors_are_used_up) {
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    EXPECT_THROW((void)root->open("a"), std::system_error);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_EQ(text("a"), "text of a");
}

TEST_P(opens_beneath, refuses_what_is_no_directory) {
    for (const auto& bad : {inside.path("a"), inside.path("none")}) {
        try {
            beneath wrong(bad, GetParam());
            ADD_FAILURE() << bad;
        } catch (const std::system_error& e) {
            EXPECT_NE(std::string(e.what()).find(bad), std::string::npos) << e.what();
        }
    }
}

}  // namespace
