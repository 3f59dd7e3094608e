// waits.hpp - how hooked calls wait in fibers: the part of the table that concerns descriptors and time.
//
// The contracts are those of base/hook_table.hpp.
#pragma once

#include "base/hook_table.hpp"

namespace weft::detail {

bool is_in_hooked_fiber() noexcept;
std::int64_t hooked_now() noexcept;
long hooked_wait(const pollfd* wanted, std::size_t count, std::int64_t until, const hook_call&) noexcept;
long hooked_sleep(std::int64_t until, const hook_call&) noexcept;
long hooked_elsewhere(void (*call)(void*), void* what, const hook_call&) noexcept;
void hooked_pause() noexcept;
void hooked_closing(int descriptor) noexcept;

}  // namespace weft::detail
