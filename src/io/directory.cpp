// directory.cpp - directories, by calls on the pool for files.
#include <weft/io/directory.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string_view>

#include <weft/io/file.hpp>

#include "io/files/file_source.hpp"
#include "io/files/perform_file.hpp"

namespace weft::io {
namespace {

using namespace weft::detail;

struct closes_directory {
    void operator()(DIR* d) const noexcept { ::closedir(d); }
};

entry_kind kind_of(mode_t mode) noexcept {
    if (S_ISREG(mode)) return entry_kind::file;
    if (S_ISDIR(mode)) return entry_kind::directory;
    return S_ISLNK(mode) ? entry_kind::link : entry_kind::other;
}

/// Some file systems do not say it in the directory.
entry_kind kind_of(DIR* of, const dirent& e) noexcept {
    if (e.d_type != DT_UNKNOWN) return kind_of(static_cast<mode_t>(DTTOIF(e.d_type)));
    struct stat is {};
    return ::fstatat(::dirfd(of), e.d_name, &is, AT_SYMLINK_NOFOLLOW) == 0 ? kind_of(is.st_mode) : entry_kind::other;
}

/// A negated errno, in the frame that made the call: this runs on a plain thread, and does not park.
long read_entries(const std::string& path, std::vector<directory_entry>& into) {
    const std::unique_ptr<DIR, closes_directory> open(::opendir(path.c_str()));
    if (!open) return -static_cast<long>(errno);
    for (;;) {
        errno = 0;
        const dirent* const e = ::readdir(open.get());
        if (!e) return -static_cast<long>(errno);
        const std::string_view name = e->d_name;
        if (name != "." && name != "..") into.push_back({std::string(name), kind_of(open.get(), *e)});
    }
}

template <class F>
std::error_code with_path(const char* name, const std::string& path, F&& call) noexcept {
    if (const auto error = check_path(path)) return error;
    std::error_code error;
    const long result = call_for_files(name, -1, call, error);
    return error_of(result, error);
}

long make_one(const std::string& path, unsigned permissions) noexcept {
    return system_result([&] { return ::mkdir(path.c_str(), permissions); });
}

bool is_directory(const std::string& path) noexcept {
    struct stat is {};
    return ::stat(path.c_str(), &is) == 0 && S_ISDIR(is.st_mode);
}

/// From the first one on: mkdir() of what is there says so, or that it may not be written to.
long make_each(const std::string& path, unsigned permissions) {
    long result = -ENOENT;
    for (std::size_t at = 0; at < path.size();) {
        const auto end = std::min(path.find('/', path.find_first_not_of('/', at)), path.size());
        const auto so_far = path.substr(0, end);
        result = make_one(so_far, permissions);
        if (result < 0 && is_directory(so_far)) result = 0;
        if (result < 0) return result;
        at = end;
        if (path.find_first_not_of('/', at) == path.npos) break;
    }
    return result;
}

void throw_if(std::error_code error, const char* what, const std::string& path) {
    if (error) throw_path_error(error, what, path);
}

}  // namespace

std::vector<directory_entry> directory::list(const std::string& path, std::error_code& error) {
    std::vector<directory_entry> all;
    error = with_path("readdir", path, [&] { return read_entries(path, all); });
    if (error) all.clear();
    return all;
}
std::vector<directory_entry> directory::list(const std::string& path) {
    std::error_code error;
    auto all = list(path, error);
    throw_if(error, "list", path);
    return all;
}

void directory::make(const std::string& path, unsigned permissions, std::error_code& error) {
    error = with_path("mkdir", path, [&] { return make_one(path, permissions); });
}
void directory::make(const std::string& path, unsigned permissions) {
    std::error_code error;
    make(path, permissions, error);
    throw_if(error, "make directory", path);
}

void directory::make_all(const std::string& path, unsigned permissions, std::error_code& error) {
    error = with_path("mkdir", path, [&] { return make_each(path, permissions); });
}
void directory::make_all(const std::string& path, unsigned permissions) {
    std::error_code error;
    make_all(path, permissions, error);
    throw_if(error, "make directory", path);
}

void directory::remove(const std::string& path, std::error_code& error) {
    error = with_path("rmdir", path, [&] { return system_result([&] { return ::rmdir(path.c_str()); }); });
}
void directory::remove(const std::string& path) {
    std::error_code error;
    remove(path, error);
    throw_if(error, "remove directory", path);
}

void directory::sync(const std::string& path, std::error_code& error) {
    auto opened = file::open(path, open_mode::read, error);
    if (!error) opened.sync(sync_mode::all, error);
}
void directory::sync(const std::string& path) {
    std::error_code error;
    sync(path, error);
    throw_if(error, "sync directory", path);
}

}  // namespace weft::io
