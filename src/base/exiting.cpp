#include "base/exiting.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <unwind.h>

#include <cstdlib>

#include "base/atomic.hpp"
#include "base/panic.hpp"

// From the compiler's start files. Null in an executable at a fixed address; otherwise its address
// identifies the library.
extern "C" [[gnu::visibility("hidden")]] void* __dso_handle;

namespace weft::detail {
namespace {

/// Compares by name, because the address of a function that a program sees may be a jump in the
/// program itself (in an executable that is not a PIE) or a function of a preloaded library.
bool is_named(_Unwind_Ptr function, std::string_view name) noexcept {
    const auto start = reinterpret_cast<const void*>(function);
    Dl_info known = {};
    return ::dladdr(start, &known) != 0 && known.dli_saddr == start && known.dli_sname && known.dli_sname == name;
}

struct callers {
    bool exit = false;
    bool dlclose = false;  // dlclose is a nearer caller than exit
};

callers who_calls() noexcept {
    callers found;
    _Unwind_Backtrace(
        [](_Unwind_Context* frame, void* data) {
            auto& so_far = *static_cast<callers*>(data);
            const auto function = _Unwind_GetRegionStart(frame);
            // static executables have no names
            constexpr void (*of_static_executables)(int) = &std::exit;
            so_far.exit = function == reinterpret_cast<_Unwind_Ptr>(of_static_executables) || is_named(function, "exit");
            so_far.dlclose = so_far.dlclose || is_named(function, "dlclose");
            return so_far.exit ? _URC_END_OF_STACK : _URC_NO_REASON;
        },
        &found);
    return found;
}

}  // namespace

bool is_called_by_exit() noexcept { return who_calls().exit; }

bool library_is_closed() noexcept {
    // tested first, because a static executable may have left out its unwind tables
    if (__dso_handle == nullptr) return false;
    const auto found = who_calls();
    return found.dlclose || !found.exit;
}

bool call_at_thread_end(void (*f)(void*)) noexcept { return abi::__cxa_thread_atexit(f, nullptr, &__dso_handle) == 0; }

namespace {

atomic<bool> some_were_abandoned{false};

}  // namespace

// relaxed: the same thread reads it, or the answer does not matter.
void note_abandoned_fibers() noexcept { some_were_abandoned.store(true, relaxed); }

bool require_at_end(bool condition, std::string_view rule, std::string_view detail) noexcept {
    if (condition || some_were_abandoned.load(relaxed)) [[likely]]
        return true;
    if (!is_called_by_exit()) panic(rule, detail);
    return false;
}

}  // namespace weft::detail
