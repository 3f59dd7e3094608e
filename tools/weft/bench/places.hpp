// places.hpp - files of the installation, and files that the user names.
#pragma once

#include <filesystem>
#include <string>

namespace bench {

/// share/weft/<name> beside the bin/ that this program lies in; the same in the build tree and once installed.
std::filesystem::path shared_file(const std::string& name);

/// Both leave nothing behind. \throws std::invalid_argument naming the path and the reason.
void check_writable_file(const std::filesystem::path&);
void check_writable_folder(const std::filesystem::path&);    ///< it may be missing; then it must be possible to make it

}  // namespace bench
