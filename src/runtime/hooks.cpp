#include "runtime/hooks.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <system_error>

#include <weft/detail/annotated_locks.hpp>
#include <weft/hooks.hpp>

#include "base/exiting.hpp"
#include "base/fork.hpp"
#include "base/futex_lock.hpp"
#include "io/hooked/waits.hpp"
#include "runtime/dump/code_names.hpp"
#include "sync/address_wait.hpp"

namespace weft {
namespace detail {
namespace {

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
    .parked_for_locks = &parked_for_locks,
    .condition_wait = condition_wait,
    .condition_wake = condition_wake,
    .parked_for_conditions = &parked_for_conditions,
};

futex_lock lock;
bool has_looked WEFT_GUARDED_BY(lock) = false;
atomic<const hook_library*> library{nullptr};

[[gnu::constructor(before_static_objects)]] void hold_lock() noexcept { hold_across_forks<lock>(); }  // FORK-3

hook_taker found_taker() noexcept { return reinterpret_cast<hook_taker>(::dlsym(RTLD_DEFAULT, "weft_take_hooks")); }

// If weft is a library that is closed, its table goes with it.
[[gnu::destructor]] void take_table_back() noexcept {
    if (!library.load(relaxed) || !library_is_closed()) return;  // nobody waits by then
    if (const auto take = found_taker()) take(hook_version, nullptr);
}

}  // namespace

bool begin_hooks() noexcept {
    const lock_guard guard(lock);
    if (std::exchange(has_looked, true)) return library.load(relaxed) != nullptr;
    const auto take = found_taker();
    if (!take) {
        std::fputs(
            "weft: runtime_options::hooks has no effect, since libweft_hooks.so is not loaded: link weft::hooks, or start the "
            "program with LD_PRELOAD=libweft_hooks.so\n",
            stderr);
        return false;
    }
    const auto* const found = take(hook_version, &table);
    if (!found) {
        std::fputs("weft: runtime_options::hooks has no effect, since libweft_hooks.so is of another version of weft\n", stderr);
        return false;
    }
    library.store(found, release);  // pairs with used_library()
    return true;
}

}  // namespace detail

namespace hooks {
namespace {

using namespace detail;

const hook_library* used_library() noexcept { return library.load(acquire); }  // pairs with begin_hooks()

/// The parts of "libpq.so.5.15:pqSocketPoll+0x5a" and the like.
site site_of(const hook_count& c, code_names& names) {
    site s{.call = c.name, .object_file = {}, .function = {}, .calls = c.calls, .parks = c.parks, .blocks = c.blocks};
    Dl_info where{};
    if (c.caller && ::dladdr(c.caller, &where) != 0 && where.dli_fname) {
        const std::string_view path = where.dli_fname;
        s.object_file = path.substr(path.rfind('/') + 1);
    }
    if (c.caller) s.function = names.of_caller(c.caller);
    return s;
}

void do_in_library(int (*const hook_library::*what)(const char*), std::string_view file, const char* name) {
    const auto* const found = used_library();
    const int error = found ? (found->*what)(std::string(file).c_str()) : EPERM;
    if (error != 0)
        throw std::system_error(error, std::generic_category(),
                                "weft::hooks::" + std::string(name) + "(\"" + std::string(file) + "\")");
}

}  // namespace

bool active() noexcept { return used_library() != nullptr; }

std::vector<site> report() {
    struct {
        std::vector<site> sites;
        code_names names;
        std::exception_ptr failure;
    } seen;
    if (const auto* const found = used_library())
        found->for_each_count(
            [](const hook_count& c, void* what) {
                auto& s = *static_cast<decltype(seen)*>(what);
                try {
                    s.sites.push_back(site_of(c, s.names));
                } catch (...) {
                    s.failure = std::current_exception();
                }
            },
            &seen);
    if (seen.failure) std::rethrow_exception(seen.failure);
    std::ranges::sort(seen.sites, std::greater(), &site::calls);
    return std::move(seen.sites);
}

void leave_alone(std::string_view file) { do_in_library(&hook_library::leave_alone, file, "leave_alone"); }

void adopt(std::string_view file) { do_in_library(&hook_library::adopt, file, "adopt"); }

}  // namespace hooks
}  // namespace weft
