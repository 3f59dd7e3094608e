// planted.hpp - the library of planted.cpp.
#pragma once

namespace planted {

/// Reads a byte, locks and unlocks a mutex, sleeps, and closes the descriptor.
[[gnu::visibility("default")]] void call_what_is_interposed(int readable);

}  // namespace planted
