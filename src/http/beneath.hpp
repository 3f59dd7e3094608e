// beneath.hpp - opens files of one directory and of those in it, and nothing outside, for paths that strangers send.
//
// Invariants
//   BENEATH-1  Every file that open() returns lay in the directory or below it while it was opened,
//              whatever symbolic links there are and whatever is renamed meanwhile. The kernel
//              checks this (openat2, RESOLVE_BENEATH). Where it cannot, the path is walked name by
//              name, each opened relative to the one before, and no symbolic link is followed.
//   BENEATH-2  open() opens nothing but regular files for reading: what lies there is looked at
//              first (O_PATH). So it waits for no other process, and opening a FIFO or a device has
//              no effect on the process at its other end. Without /proc the file is opened by its
//              name after that, and whether it is the same is seen only then.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>
#include <utility>

#include "base/owned_descriptor.hpp"

namespace weft::detail {

struct opened_file {
    owned_descriptor descriptor;  // a directory's is not open for reading
    struct stat status;
};

class beneath {
public:
    /// How paths are resolved. `as_possible`: by the kernel, else by walking. Old kernels have no
    /// openat2, nor do qemu-user and some sandboxes.
    /// `walk_without_proc`: as if there were no /proc either.
    enum class way { as_possible, walk, walk_without_proc };

    /// \throws  std::system_error naming the directory, if it cannot be opened as one.
    explicit beneath(const std::string& directory, way how = way::as_possible);

    /// Opens a regular file for reading, or a directory to look at. The names of a path are
    /// separated by '/'; an empty path is the directory.
    ///
    /// \returns  nothing if there is neither, it may not be read, or it lies outside.
    /// \throws   std::system_error if the system is out of descriptors or memory, or the disk
    ///           fails.
    std::optional<opened_file> open(const std::string& path) const;

private:
    owned_descriptor resolve(const char* path, int flags) const;

    owned_descriptor root_;
    bool walks_;
    bool has_proc_;
};

/// Whether the reason of a failure is the path, and not the state of the system.
bool is_of_path(int error) noexcept;

}  // namespace weft::detail
