// hog.hpp - reports of hogs, as the callbacks of C see them.
#pragma once

#include <weft/c.h>
#include <weft/runtime.hpp>

namespace weft::capi {

/// Calls on_hog.
void tell_of_hog(void (*on_hog)(void* user, const weft_hog* hog), void* user, const hog_report& h);

}  // namespace weft::capi
