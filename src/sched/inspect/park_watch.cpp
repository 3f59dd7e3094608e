#include "sched/inspect/park_watch.hpp"

#include <dlfcn.h>

#include "base/running_fiber.hpp"
#include "sched/scheduler.hpp"

namespace weft::detail {
namespace {

running_fiber who_runs() noexcept {
    running_fiber who{};
    const auto* const f = this_fiber_block();
    if (!f) return who;
    who.id = id_of(*f);
    who.file = f->site.file_name();
    who.line = static_cast<unsigned>(f->site.line());
    f->name().copy(who.name.data(), who.name.size() - 1);
    return who;
}

fiber_asker_taker found_taker() noexcept { return reinterpret_cast<fiber_asker_taker>(::dlsym(RTLD_DEFAULT, "weft_who_runs")); }

park_watcher found_watcher() noexcept { return reinterpret_cast<park_watcher>(::dlsym(RTLD_DEFAULT, "weft_about_to_park")); }

[[gnu::destructor]] void nobody_is_asked() noexcept {
    if (const auto take = found_taker()) take(who_runs, nullptr);
}

}  // namespace

void find_park_watcher() noexcept {
    // A constant-initialised flag and no local static that is constructed here: FORK-3.
    static constinit atomic<bool> looked{false};
    // Pairs with the store below. Threads that race here find the same library.
    if (looked.load(acquire)) return;
    const auto found = found_watcher();
    if (const auto take = found_taker()) take(nullptr, who_runs);
    if (found) watcher_of_parks.store(found, relaxed);  // ordered by the start of its readers
    looked.store(true, release);  // pairs with the load
}

bool watch_parks(park_watcher watcher, park_filter filter) noexcept {
    if (found_watcher()) return false;
    filter_of_parks.store(filter, relaxed);  // as the watcher; a wait meanwhile may see the filter of another one
    watcher_of_parks.store(watcher, relaxed);  // a function that exists since the program was loaded
    return true;
}

void tell_watcher(const control_block& self, const wait_kind& kind) noexcept {
    const auto watcher = watcher_of_parks.load(relaxed);
    if (!watcher) return;  // taken away since is_watched()
    const auto concerns = filter_of_parks.load(relaxed);
    if (concerns && !concerns()) return;
    watcher({.name = self.name(),
             .id = id_of(self),
             .file = self.site.file_name(),
             .line = static_cast<unsigned>(self.site.line()),
             .reason = kind.name,
             .is_thread = self.is_any(rare_identity)});
}

}  // namespace weft::detail
