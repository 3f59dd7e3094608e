// objects.hpp - which object files the hooks concern: some are left alone, others are made to call them.
#pragma once

namespace weft::hooks {

/// As the functions of hook_library.
int leave_alone(const char* object_file);
int adopt(const char* object_file);

}  // namespace weft::hooks
