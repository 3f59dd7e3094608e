// folder.cpp - making and removing it.
#include "http/support/folder.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace weft::test {

folder::folder() {
    std::string name = testing::TempDir() + "weft_folder_XXXXXX";
    if (!::mkdtemp(name.data())) throw std::runtime_error("cannot make " + name);
    path_ = std::filesystem::canonical(name);
}

folder::~folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

void folder::write(std::string_view name, std::string_view text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << text;
}

void folder::set_time(std::string_view name, long seconds) const {
    const timespec times[2] = {{.tv_sec = seconds, .tv_nsec = 0}, {.tv_sec = seconds, .tv_nsec = 0}};
    if (::utimensat(AT_FDCWD, path(name).c_str(), times, 0) != 0)
        throw std::runtime_error("cannot set the time of " + path(name));
}

}  // namespace weft::test
