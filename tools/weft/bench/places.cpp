// places.cpp - permission bits say little (root, read-only mounts), so a file is made and removed for trial.
#include "places.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

#include "child.hpp"

namespace bench {
namespace {

namespace fs = std::filesystem;

std::string reason(int error) { return std::generic_category().message(error); }

}  // namespace

fs::path shared_file(const std::string& name) {
    return fs::path(own_program()).parent_path().parent_path() / "share" / "weft" / name;
}

void check_writable_file(const std::string& option, const fs::path& path) {
    const auto refuse = [&](int error) {
        throw std::invalid_argument(option + ": cannot write to " + path.string() + " (" + reason(error) +
                                    "); it may be a file that can be made or written, or -");
    };
    if (const int made = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666); made >= 0) {
        ::close(made);
        ::unlink(path.c_str());
        return;
    }
    if (errno != EEXIST) refuse(errno);
    const int existing = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (existing < 0) refuse(errno);
    ::close(existing);
}

void check_writable_folder(const std::string& option, const fs::path& path) {
    const auto refuse = [&](const std::string& why) {
        throw std::invalid_argument(option + ": cannot write to " + path.string() + " (" + why +
                                    "); it may be a folder that can be made or written");
    };
    if (path.empty()) refuse("no name");
    auto there = fs::absolute(path);
    while (!fs::exists(fs::symlink_status(there)) && there.has_relative_path()) there = there.parent_path();
    if (!fs::is_directory(there)) refuse(there.string() + " is no folder");
    auto trial = (there / "weft-bench-XXXXXX").string();
    if (::mkdtemp(trial.data()) == nullptr) refuse(reason(errno));
    ::rmdir(trial.c_str());
}

}  // namespace bench
