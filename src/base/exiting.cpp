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

bool is_called_by_exit() noexcept {
    struct search {
        _Unwind_Ptr here, there;
        bool found = false;
    };
    search exits{
        .here = reinterpret_cast<_Unwind_Ptr>(static_cast<void (*)(int)>(&std::exit)),
        .there = reinterpret_cast<_Unwind_Ptr>(::dlsym(RTLD_NEXT, "exit"))};  // here it may be a jump of the executable's own
    _Unwind_Backtrace(
        [](_Unwind_Context* frame, void* data) {
            auto& of = *static_cast<search*>(data);
            const auto function = _Unwind_GetRegionStart(frame);
            of.found = function == of.here || function == of.there;
            return of.found ? _URC_END_OF_STACK : _URC_NO_REASON;
        },
        &exits);
    return exits.found;
}

bool library_is_closed() noexcept { return __dso_handle != nullptr && !is_called_by_exit(); }

bool call_at_thread_end(void (*f)(void*)) noexcept { return abi::__cxa_thread_atexit(f, nullptr, &__dso_handle) == 0; }

namespace {

atomic<bool> some_were_abandoned{false};

}  // namespace

void note_abandoned_fibers() noexcept {
    some_were_abandoned.store(true, relaxed);
}  // read by the same thread, or it does not matter

void require_at_end(bool condition, std::string_view rule, std::string_view detail) noexcept {
    if (!condition && !some_were_abandoned.load(relaxed) && !is_called_by_exit()) [[unlikely]]
        panic(rule, detail);
}

}  // namespace weft::detail
