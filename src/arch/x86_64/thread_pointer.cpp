// thread_pointer.cpp - finds out how a program may set %fs on this machine.
#include "arch/thread_pointer.hpp"

#include <asm/prctl.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

#include "base/system_call.hpp"

namespace weft::detail {
namespace {

constexpr unsigned long fsgsbase_bit = 2;  // HWCAP2_FSGSBASE, which older headers lack

}  // namespace

// Zero until it is set, when the code is loaded: the system call is right as well.
bool thread_pointer_is_set_by_instruction = (::getauxval(AT_HWCAP2) & fsgsbase_bit) != 0;

bool set_thread_pointer_by_system_call(std::uintptr_t value) noexcept {
    return system_call(SYS_arch_prctl, ARCH_SET_FS, static_cast<long>(value), 0, 0, 0, 0) == 0;
}

}  // namespace weft::detail
