// dlopen_test.cpp - a library that uses weft is opened, used and closed again and again, and leaves nothing behind.
#include <gtest/gtest.h>

#include <dlfcn.h>
#include <malloc.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>

#include "support/no_leaks.hpp"
#include "support/scale.hpp"

namespace weft::test {
namespace {

int mappings() {
    int n = 0;
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) ++n;
    return n;
}

/// In MiB.
std::size_t address_space() {
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    return pages * static_cast<std::size_t>(::getpagesize()) >> 20;
}

bool is_mapped(const std::string& what) {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);)
        if (line.find(what) != std::string::npos) return true;
    return false;
}

class libraries : public no_leaks {};

void open_and_close_fifty_times(const char* path) {
    ::mallopt(M_ARENA_MAX, 4);
    struct sigaction before = {}, after = {};
    ::sigaction(SIGSEGV, nullptr, &before);
    int mapped = 0;
    std::size_t allocated = 0, mapped_by_malloc = 0, addresses = 0;
    for (int i = 0; i < 50; ++i) {
        void* const library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
        ASSERT_TRUE(library) << ::dlerror();
        auto* const work = reinterpret_cast<int (*)()>(::dlsym(library, "weft_plugin_work"));
        ASSERT_TRUE(work);
        EXPECT_EQ(work(), 5050);
        ASSERT_EQ(::dlclose(library), 0);
        if (i == 4) {  // after what libc and the loader keep
            mapped = mappings();
            allocated = ::mallinfo2().uordblks;
            mapped_by_malloc = ::mallinfo2().hblkhd;
            addresses = address_space();
        }
    }
    // malloc may have taken another arena, and a sanitizer has maps of its own; TSan keeps what threads have done that have
    // ended, which grows each time.
    if (!WEFT_UNDER_TSAN) {
        EXPECT_LE(mappings(), mapped + (sanitized ? 20 : 2));
    }
    if (!sanitized) {
        // Caches of malloc and the loader grow by 4 to 12 KiB in 45 times, and by 15 in 400.
        EXPECT_LT(::mallinfo2().uordblks, allocated + 45 * 512) << "less than half a KiB each time";
        EXPECT_LE(::mallinfo2().hblkhd, mapped_by_malloc);
        EXPECT_LT(address_space(), addresses + 500) << "a slab of stacks has 64 MiB, and so has an arena of malloc's";
    }
    ::sigaction(SIGSEGV, nullptr, &after);
    EXPECT_EQ(after.sa_sigaction, before.sa_sigaction);
}

TEST_F(libraries, ask_E2_that_use_weft_are_opened_and_closed_fifty_times_and_leave_nothing) {
    open_and_close_fifty_times(WEFT_PLUGIN_GONE);
    if (!WEFT_UNDER_TSAN) {
        EXPECT_FALSE(is_mapped("hazards_plugin_gone")) << "it was closed, but stays";
    }
}

TEST_F(libraries, ask_E2_the_loader_keeps_are_used_again_and_grow_nothing) { open_and_close_fifty_times(WEFT_PLUGIN_KEPT); }

void* opened_and_used() {
    void* const library = ::dlopen(WEFT_PLUGIN_GONE, RTLD_NOW | RTLD_LOCAL);
    if (!library || reinterpret_cast<int (*)()>(::dlsym(library, "weft_plugin_work"))() != 5050) ::_exit(5);
    return library;
}

void* closed_at_exit = nullptr;

/// A sanitizer looks for leaks itself, later, and has a malloc of its own.
void close_at_exit() {
    const auto before = ::mallinfo2().uordblks;
    if (::dlclose(closed_at_exit) != 0) ::_exit(6);
    if (!sanitized) ::_exit(::mallinfo2().uordblks + 30 * 1024 < before ? 3 : 4);  // tables of values alone have 40 KiB
}

TEST_F(libraries, ask_E2_that_are_closed_while_the_process_ends_leave_nothing_either) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            closed_at_exit = opened_and_used();
            std::atexit(close_at_exit);
            std::exit(3);
        },
        ::testing::ExitedWithCode(3), "");
}

}  // namespace
}  // namespace weft::test
