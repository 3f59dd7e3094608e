// objects.hpp - which object files the hooks concern: some are left alone, others are made to call them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace weft::hooks {

struct found_object {
    std::string path;  // as the loader has it; empty: the program
    std::uintptr_t read_only_from = 0, read_only_to = 0;  // what the loader has made so after it had filled it in
};
/// The loaded object file of this name, "libpq.so.5" or "libpq.so.5.15", or of this path.
/// \throws std::bad_alloc
std::optional<found_object> find_object(const char* name);

/// As the functions of hook_library. \throws std::bad_alloc
int leave_alone(const char* object_file);
int adopt(const char* object_file);

}  // namespace weft::hooks
