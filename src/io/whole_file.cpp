// whole_file.cpp - files read and replaced as a whole, renamed and removed.
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <weft/io/directory.hpp>
#include <weft/io/file.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <optional>

#include "io/files/file_source.hpp"
#include "io/files/perform_file.hpp"

namespace weft::io {
namespace {

using namespace weft::detail;

constexpr std::size_t first_piece = 4096;  // of a file that does not say its size

std::string directory_of(const std::string& path) {
    const auto slash = path.find_last_not_of('/') == path.npos ? path.npos : path.rfind('/', path.find_last_not_of('/'));
    if (slash == path.npos) return path.starts_with('/') ? "/" : ".";
    return slash == 0 ? "/" : path.substr(0, slash);
}

/// A name in the same directory that no other file has, most likely.
std::string temporary_beside(const std::string& path) {
    std::uint64_t number = 0;
    if (::getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number)
        number = static_cast<std::uint64_t>(clock::now().time_since_epoch().count());
    std::array<char, 16> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, 16).ptr;
    return directory_of(path) + "/.weft-" + std::string(digits.data(), end) + ".tmp";
}

std::error_code call_with_path(const char* name, const std::string& path, long (*call)(const char*)) noexcept {
    if (const auto error = check_path(path)) return error;
    std::error_code error;
    const long result = call_for_files(
        name, -1, [&] { return call(path.c_str()); }, error);
    return error_of(result, error);
}

/// The file that is replaced, if there is one and it is a regular file.
std::optional<struct stat> state_of(const std::string& path, std::error_code& error) noexcept {
    struct stat is {};
    const auto call = [&] { return system_result([&] { return ::lstat(path.c_str(), &is); }); };
    const long result = call_for_files("stat", -1, call, error);
    if (error) return std::nullopt;
    return result >= 0 && S_ISREG(is.st_mode) ? std::optional(is) : std::nullopt;
}

/// Owner and permissions as they were. Where the owner cannot be kept, the permissions are not given to another:
/// neither those of the group to another group, nor the right to run as the owner.
std::error_code make_like(const struct stat& old, const file& now) noexcept {
    std::error_code error;
    const int fd = now.native_handle();
    const auto call = [&]() -> long {
        struct stat made {};
        if (const long r = system_result([&] { return ::fstat(fd, &made); }); r < 0) return r;
        auto mode = old.st_mode & 07777;
        const bool same = made.st_uid == old.st_uid && made.st_gid == old.st_gid;
        if (!same && ::fchown(fd, old.st_uid, old.st_gid) != 0) {
            mode &= ~static_cast<mode_t>(S_ISUID | S_ISGID);
            if (made.st_gid != old.st_gid) mode &= ~static_cast<mode_t>(S_IRWXG);
        }
        return system_result([&] { return ::fchmod(fd, mode); });
    };
    const long result = call_for_files("fchmod", fd, call, error);
    return error_of(result, error);
}

/// A new file beside `path`. Another one may have the name that was drawn.
file make_temporary(const std::string& path, unsigned permissions, std::string& name, std::error_code& error) {
    constexpr int most_tries = 100;  // chosen: the names have 64 bits
    for (int tries = 0;; ++tries) {
        name = temporary_beside(path);
        auto f = file::open(name, file::write | file::create | file::exclusive | file::no_follow, permissions, error);
        if (error != std::errc::file_exists || tries == most_tries) return f;
    }
}

}  // namespace

std::string file::read_all(std::size_t most, std::error_code& error) const {
    std::string text;
    const auto bytes = size(error);
    if (error) return text;
    if (bytes > most) return error = std::make_error_code(std::errc::file_too_large), text;
    // One more than it should have, so that the end is seen; and `most` may be the largest number.
    auto room = std::max(first_piece, static_cast<std::size_t>(bytes) + 1);
    for (std::size_t done = 0; !error;) {
        text.resize(room);
        const auto left = std::as_writable_bytes(std::span(text)).subspan(done);
        const auto n = read_at(left, done, error);
        done += n;
        if (done > most) error = std::make_error_code(std::errc::file_too_large);
        if (n < left.size()) {
            text.resize(done);
            break;
        }
        room *= 2;
    }
    if (error) text.clear();
    return text;
}

std::string file::read_all(std::size_t most) const {
    std::error_code error;
    auto text = read_all(most, error);
    if (error) throw_io_error(error, "weft: read a file");
    return text;
}

std::string file::read_whole(const std::string& path, std::size_t most, std::error_code& error) {
    const auto f = open(path, open_mode::read, error);
    return error ? std::string() : f.read_all(most, error);
}

std::string file::read_whole(const std::string& path, std::size_t most) {
    std::error_code error;
    auto text = read_whole(path, most, error);
    if (error) throw_path_error(error, "read", path);
    return text;
}

void file::write_whole(const std::string& path, std::string_view text, unsigned permissions, std::error_code& error) {
    if ((error = check_path(path))) return;
    const auto old = state_of(path, error);
    if (error) return;
    std::string beside;
    // What is private must not be opened by others while it is written.
    auto f = make_temporary(path, old ? 0600 : permissions, beside, error);
    if (error) return;
    f.write_at(text, 0, error);
    if (!error && old) error = make_like(*old, f);
    if (!error) f.sync(sync_mode::all, error);
    f.close();
    if (!error) rename(beside, path, error);
    const shield until_done;  // the file is the new one by now, so no error may say that this was interrupted
    if (!error) return directory::sync(directory_of(path), error);
    std::error_code ignored;
    remove(beside, ignored);
}

void file::write_whole(const std::string& path, std::string_view text, unsigned permissions) {
    std::error_code error;
    write_whole(path, text, permissions, error);
    if (error) throw_path_error(error, "write", path);
}

void file::rename(const std::string& from, const std::string& to, std::error_code& error) {
    if ((error = check_path(from)) || (error = check_path(to))) return;
    const auto call = [&] { return system_result([&] { return ::rename(from.c_str(), to.c_str()); }); };
    const long result = call_for_files("rename", -1, call, error);
    error = error_of(result, error);
}

void file::rename(const std::string& from, const std::string& to) {
    std::error_code error;
    rename(from, to, error);
    if (error) throw_path_error(error, "rename", from);
}

void file::remove(const std::string& path, std::error_code& error) {
    error = call_with_path("unlink", path, [](const char* p) { return system_result([p] { return ::unlink(p); }); });
}

void file::remove(const std::string& path) {
    std::error_code error;
    remove(path, error);
    if (error) throw_path_error(error, "remove", path);
}

}  // namespace weft::io
