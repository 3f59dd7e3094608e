// scratch.hpp - a folder that goes with everything in it.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace weft::test {

class scratch {
public:
    scratch() : path_((std::filesystem::temp_directory_path() / "weft-test-XXXXXX").string()) {
        if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("no folder " + path_);
    }
    ~scratch() { std::filesystem::remove_all(path_); }
    scratch(const scratch&) = delete;
    scratch& operator=(const scratch&) = delete;

    std::string operator/(const std::string& name) const { return path_ + '/' + name; }
    const std::string& path() const { return path_; }

private:
    std::string path_;
};

inline std::string text_of(const std::string& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_text(const std::string& file, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    std::ofstream(file) << text;
}

}  // namespace weft::test
