#include "sched/identity/identity_pool.hpp"

#include <memory>
#include <utility>

namespace weft::detail {

identity_pool::~identity_pool() {
    while (auto* const i = pop()) {
        i->end_for_certain();
        delete i;
    }
}

thread_identity& identity_pool::take() {
    if (auto* const i = pop()) return *i;
    auto made = std::make_unique<thread_identity>(stacks_, shape_here());
    count_.fetch_add(1, relaxed);
    return *made.release();
}

void identity_pool::give(thread_identity& i) noexcept {
    const auto keep = [&](unsigned most) {
        const lock_guard guard(lock_);
        if (kept_count_ >= most) return false;
        ++kept_count_;
        i.next = std::exchange(kept_, &i);
        return true;
    };
    if (keep(most_)) return;
    if (!i.end()) {  // the system has no thread for it now; the pool ends it later
        static_cast<void>(keep(~0u));
        return;
    }
    delete &i;
    count_.fetch_sub(1, relaxed);
}

thread_identity* identity_pool::pop() noexcept {
    const lock_guard guard(lock_);
    auto* const i = kept_;
    if (!i) return nullptr;
    kept_ = std::exchange(i->next, nullptr);
    --kept_count_;
    return i;
}

}  // namespace weft::detail
