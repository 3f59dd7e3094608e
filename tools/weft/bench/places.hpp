// places.hpp - files of the installation, and files that the user names.
#pragma once

#include <filesystem>
#include <string>

namespace bench {

/// share/weft/<name> beside the bin/ that this program lies in; the same in the build tree and once installed.
std::filesystem::path shared_file(const std::string& name);

/// Whether something can be written there; both try it and leave nothing behind. A folder may be missing if it can be made.
/// \throws  std::invalid_argument that begins with the option and says why not and what is allowed.
void check_writable_file(const std::string& option, const std::filesystem::path&);
void check_writable_folder(const std::string& option, const std::filesystem::path&);

}  // namespace bench
