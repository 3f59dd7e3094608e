#include "sched/inspect/stack_census.hpp"

#include <weft/detail/annotated_locks.hpp>

#include <algorithm>
#include <new>

#include "fiber/control_block.hpp"
#include "stack/high_water.hpp"
#include "stack/stack.hpp"

namespace weft::detail {

void stack_census::begin(stack& home) noexcept { scrub(home.span); }

bool stack_census::end(const control_block& f) noexcept {
    const auto used = used_bytes(f.home->span);
    const task& body = *f.body;
    try {
        const bool has_site = f.site.line() != 0;
        const key place(has_site ? f.site.file_name() : "", f.site.line(), f.site.column(), typeid(body).hash_code());
        const lock_guard guard(lock_);
        auto& mine = all_[place];
        if (mine.fibers++ == 0) mine.site = f.site, mine.body = &typeid(body);
        mine.sum += used;
        if (used >= mine.most) {
            mine.most = used;
            mine.stack_bytes = f.home->bytes();
        }
        return true;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

std::vector<stack_census::entry> stack_census::entries() const {
    std::vector<entry> found;
    {
        const lock_guard guard(lock_);
        for (const auto& [place, e] : all_) found.push_back(e);
    }
    std::sort(found.begin(), found.end(), [](const entry& a, const entry& b) { return a.most > b.most; });
    return found;
}

}  // namespace weft::detail
