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

[[noreturn]] void refuse(const fs::path& path, const std::string& what) {
    throw std::invalid_argument("cannot write to " + path.string() + ": " + what);
}

[[noreturn]] void refuse(const fs::path& path, int error) { refuse(path, std::generic_category().message(error)); }

}  // namespace

fs::path shared_file(const std::string& name) { return fs::path(own_program()).parent_path().parent_path() / "share" / "weft" / name; }

void check_writable_file(const fs::path& path) {
    if (const int made = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666); made >= 0) {
        ::close(made);
        ::unlink(path.c_str());
        return;
    }
    if (errno != EEXIST) refuse(path, errno);
    const int existing = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (existing < 0) refuse(path, errno);
    ::close(existing);
}

void check_writable_folder(const fs::path& path) {
    if (path.empty()) throw std::invalid_argument("the folder has no name");
    auto there = fs::absolute(path);
    while (!fs::exists(fs::symlink_status(there)) && there.has_relative_path()) there = there.parent_path();
    if (!fs::is_directory(there)) refuse(path, there.string() + " is not a folder");
    auto trial = (there / "weft-bench-XXXXXX").string();
    if (::mkdtemp(trial.data()) == nullptr) refuse(path, errno);
    ::rmdir(trial.c_str());
}

}  // namespace bench
