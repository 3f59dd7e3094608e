// dead_letter.cpp - counts messages that no actor handles, and calls the hook for them.
#include <weft/dead_letter.hpp>

#include <weft/detail/annotated_locks.hpp>

#include <memory>
#include <utility>

#include "actor/actor_core.hpp"
#include "base/fork.hpp"
#include "base/futex_lock.hpp"
#include "base/never_destroyed.hpp"
#include "base/seldom.hpp"
#include "fiber/hook.hpp"

namespace weft {
namespace {

using hook_function = std::function<void(const dead_letter&)>;

struct letter_box {
    detail::futex_lock lock;
    // copied, to be called without the lock
    std::shared_ptr<const hook_function> hook WEFT_GUARDED_BY(lock);
    detail::atomic<std::uint64_t> count{0};
};

letter_box& letters() noexcept {
    static detail::never_destroyed<letter_box> one;  // outlives every actor
    return *one;
}

// FORK-3
[[gnu::constructor(detail::before_static_objects)]] void dead_letters_follow_forks() noexcept {
    detail::hold_lock_across_forks<letters>();
}

}  // namespace

std::function<void(const dead_letter&)> on_dead_letter(std::function<void(const dead_letter&)> hook) {
    auto next = hook ? std::make_shared<const hook_function>(std::move(hook)) : nullptr;
    {
        const detail::lock_guard guard(letters().lock);
        next.swap(letters().hook);
    }
    return next ? *next : hook_function();
}

std::uint64_t dead_letters() noexcept { return letters().count.load(detail::relaxed); }

void detail::report_dead_letter(std::string_view actor, message& m, dead_letter::cause why) noexcept {
    letters().count.fetch_add(1, relaxed);
    std::shared_ptr<const hook_function> hook;
    {
        const lock_guard guard(letters().lock);
        hook = letters().hook;
    }
    static seldom failures;
    if (hook)
        call_hook(
            "on_dead_letter",
            [&] {
                (*hook)({actor, m.type(), m.value(), why});
            },
            &failures);
}

}  // namespace weft
