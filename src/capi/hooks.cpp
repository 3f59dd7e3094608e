// hooks.cpp - the hook that tells the runtime of another language of each wait.
#include <weft/c_hooks.h>

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

}  // namespace
}  // namespace weft::capi

using namespace weft::capi;

weft_status weft_set_park_hook(void (*about_to_park)(const weft_parking* what)) {
    hook.store(about_to_park, weft::detail::relaxed);
    if (weft::detail::watch_parks(about_to_park ? tell_hook : nullptr)) return WEFT_OK;
    return fail(WEFT_ESTATE, "weft_set_park_hook: the lock check is loaded, and uses the hook");
}
