// directory.hpp - directories: listed, made, removed, made durable.
#pragma once

#include <cstdint>
#include <string>
#include <system_error>
#include <vector>

#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>

namespace weft::io {

/// What a name of a directory stands for.
enum class entry_kind : std::uint8_t { file, directory, link, other };

struct directory_entry {
    std::string name;  ///< without the path of the directory
    entry_kind kind = entry_kind::other;
};

/// Operations on directories. They run on a pool of threads; the calling fiber parks meanwhile. A stop
/// or a deadline withdraws one that has not begun; one that has begun is waited for, and its result
/// is returned. On a plain thread and in a simulated runtime the calling thread makes them.
///
/// All throw std::system_error (invalid_argument for a path with a zero byte) and weft::cancelled; the
/// forms with a trailing std::error_code& report both there.
class WEFT_EXPORT directory {
public:
    /// Its names at this time, without "." and "..", in no order.
    ///
    ///     for (auto& entry : weft::io::directory::list("/var/log")) std::cout << entry.name << '\n';
    [[nodiscard]] static std::vector<directory_entry> list(const std::string& path);
    [[nodiscard]] static std::vector<directory_entry> list(const std::string& path, std::error_code& error);

    /// \throws  also file_exists.
    static void make(const std::string& path, unsigned permissions = 0777);
    static void make(const std::string& path, unsigned permissions, std::error_code& error);
    /// Makes it and those above it that are not there. It is no error if it is there.
    static void make_all(const std::string& path, unsigned permissions = 0777);
    static void make_all(const std::string& path, unsigned permissions, std::error_code& error);
    /// Removes an empty one. \throws also directory_not_empty.
    static void remove(const std::string& path);
    static void remove(const std::string& path, std::error_code& error);
    /// Waits until the names in it are on the disk: of files that were made, renamed or removed.
    static void sync(const std::string& path);
    static void sync(const std::string& path, std::error_code& error);
};

}  // namespace weft::io
