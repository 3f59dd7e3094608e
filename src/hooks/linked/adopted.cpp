// adopted.cpp - in place of src/hooks/adopted.cpp, where the hooks are linked statically.
#include <cerrno>

#include "hooks/objects.hpp"

namespace weft::hooks {

/// The hooks have no names of their own that another object file could be made to call.
int adopt(const char*) { return ENOTSUP; }

}  // namespace weft::hooks
