// failure.cpp - the panic for a failure that is given as a null pointer.
#include <weft/detail/failure.hpp>

#include "base/panic.hpp"

namespace weft::detail {

void panic_null_failure(const char* taker) noexcept { panic("a failure needs an exception, not a null pointer", taker); }

}  // namespace weft::detail
