// hooks.cpp - the hook that tells the runtime of another language of each wait.
#include <weft/c_hooks.h>

#include <string>

#include "base/atomic.hpp"
#include "capi/status.hpp"
#include "sched/inspect/park_watch.hpp"

namespace weft::capi {
namespace {

using park_hook = void (*)(const weft_parking*);

constinit detail::atomic<park_hook> hook{nullptr};

void tell_hook(const detail::parking_fiber& f) noexcept {
    // relaxed: a function that exists since the program was loaded
    const auto tell = hook.load(detail::relaxed);
    if (!tell) return;
    const weft_parking what{.fiber = f.id,
                            .name = f.name.data(),
                            .name_bytes = f.name.size(),
                            .reason = f.reason.data(),
                            .reason_bytes = f.reason.size()};
    tell(&what);
}

weft_status set_hook(const char* function, detail::park_filter concerns, park_hook about_to_park) noexcept {
    hook.store(about_to_park, detail::relaxed);
    if (detail::watch_parks(about_to_park ? tell_hook : nullptr, concerns)) return WEFT_OK;
    return fail(WEFT_ESTATE, std::string(function) + ": the lock check is loaded, and uses the hook");
}

}  // namespace
}  // namespace weft::capi

using namespace weft::capi;

weft_status weft_set_park_hook(void (*about_to_park)(const weft_parking* what)) {
    return set_hook("weft_set_park_hook", nullptr, about_to_park);
}

weft_status weft_set_park_check(bool (*concerns)(), void (*about_to_park)(const weft_parking* what)) {
    if (!concerns != !about_to_park) return refuse("weft_set_park_check", "one function is null, and the other is not");
    return set_hook("weft_set_park_check", concerns, about_to_park);
}
