#include "runtime/hooks.hpp"

#include <dlfcn.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include <weft/detail/annotated_locks.hpp>

#include "base/fork.hpp"
#include "base/futex_lock.hpp"
#include "io/hooked/waits.hpp"
#include "runtime/dump/code_names.hpp"
#include "sync/address_wait.hpp"

// The hooks, where they are linked with the same object file as this: a static program cannot look them up.
extern "C" [[gnu::weak, gnu::visibility("default")]] const weft::detail::hook_library* weft_take_hooks(
    unsigned version, const weft::detail::hook_table*) noexcept;

namespace weft::detail {
namespace {

// A stop ends each wait at once, so the library's loop computes.
void tell_of_retries(const hook_call& c, unsigned times) noexcept {
    const int error = errno;  // HOOK_TABLE-2
    try {
        const auto line = "weft: " + place_of(c.caller) + " has called " + c.name + " " + std::to_string(times) +
                          " times in a row in a fiber that is to stop, and has got ECANCELED each time\n";
        std::fputs(line.c_str(), stderr);
    } catch (const std::exception&) {  // no memory: it is not told
    }
    errno = error;
}

constinit const hook_table table{
    .in_fiber = is_in_hooked_fiber,
    .now = hooked_now,
    .wait = hooked_wait,
    .sleep = hooked_sleep,
    .elsewhere = hooked_elsewhere,
    .pause = hooked_pause,
    .closing = hooked_closing,
    .lock_wait = lock_wait,
    .lock_wake = lock_wake,
    .semaphore_wake = semaphore_wake,
    .parked_for_locks = &parked_for_locks,
    .condition_wait = condition_wait,
    .condition_wake = condition_wake,
    .parked_for_conditions = &parked_for_conditions,
    .retries = tell_of_retries,
};

futex_lock hooks_lock;
bool has_looked WEFT_GUARDED_BY(hooks_lock) = false;
atomic<const hook_library*> library{nullptr};

[[gnu::constructor(before_static_objects)]] void hold_lock() noexcept { hold_across_forks<hooks_lock>(); }  // FORK-3

hook_taker found_hook_taker() noexcept {
    // The library's come first: they reach all object files. Linked ones then pass on to them.
    const auto found = reinterpret_cast<hook_taker>(::dlsym(RTLD_DEFAULT, "weft_take_hooks"));
    return found || !&weft_take_hooks ? found : weft_take_hooks;
}

void print_audit() {
    try {
        std::fputs(hooks_in_words().c_str(), stderr);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "weft: no report of hooked calls: %s\n", e.what());
    }
}

// A thread may be about to call what it has found in the table, at any time: neither weft nor the library of hooks
// may be unmapped any more. A program, which is not, is not found, and nothing is done.
void keep_mapped(const void* code) noexcept {
    Dl_info where{};
    if (::dladdr(code, &where) != 0 && where.dli_fname)
        static_cast<void>(::dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE));
}

}  // namespace

bool begin_hooks() noexcept {
    const lock_guard guard(hooks_lock);
    if (std::exchange(has_looked, true)) return library.load(relaxed) != nullptr;
    const auto take = found_hook_taker();
    if (!take) {
        std::fputs(
            "weft: runtime_options::hooks has no effect, since libweft_hooks.so is not loaded: link weft::hooks, or start the "
            "program with LD_PRELOAD=libweft_hooks.so; a static program links weft::hooks_static\n",
            stderr);
        return false;
    }
    const auto* const found = take(hook_version, &table);
    if (!found) {
        std::fputs("weft: runtime_options::hooks has no effect, since libweft_hooks.so is of another version of weft\n", stderr);
        return false;
    }
    keep_mapped(&table);
    keep_mapped(found);
    library.store(found, release);  // pairs with library_of_hooks()
    if (const char* const audit = std::getenv("WEFT_HOOKS_AUDIT"); audit && std::string_view(audit) == "1")
        std::atexit(print_audit);
    return true;
}

const hook_library* library_of_hooks() noexcept { return library.load(acquire); }  // pairs with begin_hooks()

}  // namespace weft::detail
