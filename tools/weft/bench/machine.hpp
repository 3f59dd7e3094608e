// machine.hpp - where figures were taken, without which they mean little.
#pragma once

#include <string>

namespace bench {

/// CPU model and count, kernel, compiler, governor; and whether this build carries checks that cost time.
std::string machine();
/// CPUs that threads of this process may run on.
unsigned usable_cpus() noexcept;

}  // namespace bench
