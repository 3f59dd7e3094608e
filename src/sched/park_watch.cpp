#include "sched/park_watch.hpp"

#include <dlfcn.h>

#include "sched/scheduler.hpp"

namespace weft::detail {

void find_park_watcher() noexcept {
    static const auto found = reinterpret_cast<park_watcher>(::dlsym(RTLD_DEFAULT, "weft_about_to_park"));
    watcher_of_parks.store(found, relaxed);  // ordered by the start of whoever reads it
}

void tell_watcher(const control_block& self, park_reason why) noexcept {
    watcher_of_parks.load(relaxed)({.name = self.name(),
                                    .id = id_of(self),
                                    .file = self.site.file_name(),
                                    .line = static_cast<unsigned>(self.site.line()),
                                    .reason = name(why)});
}

}  // namespace weft::detail
