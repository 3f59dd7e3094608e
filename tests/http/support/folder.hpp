// folder.hpp - a directory of a test, with files in it, that is gone afterwards.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace weft::test {

class folder {
public:
    folder();
    ~folder();
    folder(const folder&) = delete;
    folder& operator=(const folder&) = delete;

    std::string path(std::string_view name = {}) const { return (path_ / name).string(); }

    /// Writes a file, and the directories it lies in.
    void write(std::string_view name, std::string_view text) const;
    /// Sets when a file was changed last, in seconds since 1970.
    void set_time(std::string_view name, long seconds) const;

private:
    std::filesystem::path path_;
};

}  // namespace weft::test
