// file_place.hpp - a directory of its own for a test of files, and whether the system lets it use io_uring.
#pragma once

#include <gtest/gtest.h>
#include <linux/io_uring.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

namespace weft::test {

class file_place {
public:
    file_place() {
        char name[] = P_tmpdir "/weft-files.XXXXXX";
        EXPECT_NE(::mkdtemp(name), nullptr);
        path_ = name;
    }
    ~file_place() { std::filesystem::remove_all(path_); }
    file_place(const file_place&) = delete;
    file_place& operator=(const file_place&) = delete;

    std::string operator/(const std::string& name) const { return path_ + "/" + name; }
    const std::string& path() const { return path_; }

private:
    std::string path_;
};

/// Asks as the engine does, so it is right in a container that refuses the call as well. A ring that is closed
/// interrupts the next system call of the thread that has made it, so a thread of its own makes it.
inline bool ring_is_here() {
    static const bool here = [] {
        long fd = -1;
        std::thread([&fd] {
            io_uring_params p{};
            p.flags = IORING_SETUP_COOP_TASKRUN;
            fd = ::syscall(SYS_io_uring_setup, 8, &p);
            if (fd >= 0) ::close(static_cast<int>(fd));
        }).join();
        return fd >= 0;
    }();
    return here;
}

}  // namespace weft::test
