#include "base/exiting.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <unwind.h>

#include <cstdlib>

#include "base/atomic.hpp"
#include "base/panic.hpp"

// Of the compiler's start files: null in an executable at a fixed address. Its own address names the library.
extern "C" [[gnu::visibility("hidden")]] void* __dso_handle;

namespace weft::detail {
namespace {

/// By its name as well: in an executable that is no PIE its address may be a jump, and a preloaded library may have one of its own.
bool is_exit(_Unwind_Ptr function) noexcept {
    if (function == reinterpret_cast<_Unwind_Ptr>(static_cast<void (*)(int)>(&std::exit))) return true;
    const auto start = reinterpret_cast<const void*>(function);
    Dl_info known = {};
    return ::dladdr(start, &known) != 0 && known.dli_saddr == start && known.dli_sname &&
           known.dli_sname == std::string_view("exit");
}

}  // namespace

bool is_called_by_exit() noexcept {
    bool found = false;
    _Unwind_Backtrace(
        [](_Unwind_Context* frame, void* data) {
            if (!is_exit(_Unwind_GetRegionStart(frame))) return _URC_NO_REASON;
            *static_cast<bool*>(data) = true;
            return _URC_END_OF_STACK;
        },
        &found);
    return found;
}

bool library_is_closed() noexcept { return __dso_handle != nullptr && !is_called_by_exit(); }

bool call_at_thread_end(void (*f)(void*)) noexcept { return abi::__cxa_thread_atexit(f, nullptr, &__dso_handle) == 0; }

namespace {

atomic<bool> some_were_abandoned{false};

}  // namespace

// Read by the same thread, or it does not matter.
void note_abandoned_fibers() noexcept { some_were_abandoned.store(true, relaxed); }

void require_at_end(bool condition, std::string_view rule, std::string_view detail) noexcept {
    if (!condition && !some_were_abandoned.load(relaxed) && !is_called_by_exit()) [[unlikely]]
        panic(rule, detail);
}

}  // namespace weft::detail
