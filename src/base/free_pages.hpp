// free_pages.hpp - gives free pages of the heap back to the system.
#pragma once

#if __has_include(<malloc.h>)
#include <malloc.h>
#endif

namespace weft::detail {

/// glibc keeps what many threads have freed, since pieces in use lie between the free ones. This takes some
/// milliseconds if the heap is large.
inline void give_back_free_pages() noexcept {
#if defined(__GLIBC__)
    ::malloc_trim(0);
#endif
}

}  // namespace weft::detail
