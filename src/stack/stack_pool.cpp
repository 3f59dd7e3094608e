// stack_pool.cpp - the slow path of stack allocation.
#include "stack/stack_pool.hpp"

#include <weft/detail/annotated_locks.hpp>

#include <unistd.h>
#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <utility>

#include "base/panic.hpp"

namespace weft::detail {
namespace {

// chosen: 256 stacks of the default size
constexpr std::size_t slab_bytes = std::size_t{64} << 20;
constexpr std::size_t slots_at_most = 256;
constexpr std::size_t closing_batch = 64;  // chosen

std::uint32_t slots_for(std::size_t stack_bytes) noexcept {
    return static_cast<std::uint32_t>(std::clamp<std::size_t>(slab_bytes / stack_bytes, 1, slots_at_most));
}

// A signal handler without an alternate stack puts its frame, with all vector registers, on the
// fiber's stack. It must fit on a small one too.
std::size_t room_for_a_signal() noexcept {
    // chosen: for the handler, and for the fiber it interrupts
    constexpr std::size_t for_code = std::size_t{8} << 10;
    return for_code + static_cast<std::size_t>(std::max(::sysconf(_SC_MINSIGSTKSZ), 2048L));
}

std::size_t& count_of(stack_statistics& counts, stack const& s) noexcept {
    return s.guard == guard_kind::none ? counts.unguarded : counts.guarded;
}

}  // namespace

stack_pool::stack_pool(stack_options options) noexcept : options_(options) {
    counts_.guards = options.guards.choice == guard_choice::none                                 ? guard_kind::none
                     : options.guards.choice == guard_choice::automatic && madvise_guards_work() ? guard_kind::madvise
                                                                                                 : guard_kind::mprotect;
}

stack_pool::~stack_pool() {
    require(counts_.in_use == 0, "a stack pool ends after its last stack was given back");
    close_idle();
}

std::size_t stack_pool::rounded(std::size_t bytes) const noexcept {
    std::size_t const page = page_bytes();
    std::size_t const wanted = std::max({bytes == 0 ? options_.default_bytes : bytes, std::size_t{1} << smallest_class, page, room_for_a_signal()});
    if (wanted <= std::size_t{1} << largest_class) return std::bit_ceil(wanted);
    return wanted > std::numeric_limits<std::size_t>::max() / 2 ? 0 : (wanted + page - 1) / page * page;
}

std::size_t stack_pool::default_bytes() const noexcept { return rounded(0); }

stack_pool::size_class& stack_pool::class_of(std::size_t stack_bytes) noexcept {
    return classes_[static_cast<std::size_t>(std::countr_zero(stack_bytes)) - smallest_class];
}

stack* stack_pool::take(std::size_t bytes) noexcept {
    std::size_t const stack_bytes = rounded(bytes);
    if (stack_bytes == 0) return nullptr;
    if (stack_bytes > std::size_t{1} << largest_class) return take_alone(stack_bytes);
    {
        const lock_guard lock(mutex_);
        if (stack* const s = take_warm(class_of(stack_bytes))) return s;
    }
    return take_new(stack_bytes);
}

std::size_t stack_pool::take_batch(stack** out, std::size_t n) noexcept {
    if (n == 0) return 0;
    // such a size has no class, so there are no warm stacks
    if (default_bytes() > std::size_t{1} << largest_class) {
        out[0] = take_alone(default_bytes());
        return out[0] != nullptr ? 1 : 0;
    }
    std::size_t taken = 0;
    {
        const lock_guard lock(mutex_);
        auto& c = class_of(default_bytes());
        for (stack* s; taken < n && (s = take_warm(c)) != nullptr;) out[taken++] = s;
    }
    if (taken == 0) {
        out[0] = take_new(default_bytes());
        taken = out[0] != nullptr ? 1 : 0;
    }
    return taken;
}

stack* stack_pool::take_warm(size_class& c) noexcept {
    auto& list = c.warm != nullptr ? c.warm : c.rested != nullptr ? c.rested : c.surplus;
    auto& count = &list == &c.surplus ? c.surplus_count : c.warm_count;
    stack* const s = list;
    if (s == nullptr) return nullptr;
    list = s->next;
    --count;
    c.unneeded_warm.fell_to(c.warm_count);
    --counts_.idle;
    ++counts_.in_use;
    return s;
}

stack* stack_pool::take_new(std::size_t stack_bytes) noexcept {
    slab* home = nullptr;
    std::uint32_t slot = 0;
    {
        const lock_guard lock(mutex_);
        auto& c = class_of(stack_bytes);
        home = slab_with_room(c, stack_bytes);
        if (home == nullptr) return nullptr;
        if (home->is_unused()) c.unneeded_slabs.fell_to(--c.unused_slabs);
        slot = home->claim();
        ++counts_.in_use;
    }
    stack* const s = home->open(slot, options_.guards);  // STACK_POOL-2
    const lock_guard lock(mutex_);
    ++count_of(counts_, *s);
    return s;
}

slab* stack_pool::slab_with_room(size_class& c, std::size_t stack_bytes) noexcept {
    while (c.room != nullptr && !c.room->has_room()) {
        c.room->listed_as_room = false;
        c.room = c.room->next_room;
    }
    if (c.room != nullptr) return c.room;
    slab* const made = slab::map(stack_bytes, slots_for(stack_bytes));
    if (made == nullptr) return nullptr;
    made->next = slabs_;
    slabs_ = made;
    counts_.mapped_slots += made->slots();
    counts_.mapped_bytes += made->mapped_bytes();
    list_as_room(c, *made);
    ++c.unused_slabs;
    return made;
}

void stack_pool::list_as_room(size_class& c, slab& s) noexcept {
    if (s.listed_as_room) return;
    s.listed_as_room = true;
    s.next_room = c.room;
    c.room = &s;
}

stack* stack_pool::take_alone(std::size_t stack_bytes) noexcept {
    slab* const home = slab::map(stack_bytes, 1);
    if (home == nullptr) return nullptr;
    stack* const s = home->open(home->claim(), options_.guards);
    const lock_guard lock(mutex_);
    ++counts_.in_use;
    ++counts_.mapped_slots;
    counts_.mapped_bytes += home->mapped_bytes();
    ++count_of(counts_, *s);
    return s;
}

void stack_pool::give_alone(stack* s) noexcept {
    slab* const home = s->home;
    {
        const lock_guard lock(mutex_);
        --counts_.in_use;
        --counts_.mapped_slots;
        counts_.mapped_bytes -= home->mapped_bytes();
        --count_of(counts_, *s);
    }
    page_return pages;
    home->close(*s, pages);
    // with all its pages
    delete home;
}

void stack_pool::give(stack* s) noexcept { give_batch(&s, 1); }

void stack_pool::give_batch(stack** in, std::size_t n) noexcept {
    for (std::size_t i = 0; i < n; ++i) check_unguarded(*in[i]);
    // one visit, except for rare stacks
    for (std::size_t i = 0; i < n;) {
        stack* to_close = nullptr;
        stack* alone = nullptr;
        {
            const lock_guard lock(mutex_);
            while (i < n && to_close == nullptr && alone == nullptr) {
                stack* const s = in[i++];
                if (s->home->stack_bytes() > std::size_t{1} << largest_class) alone = s;
                else to_close = put(s);
            }
        }
        if (alone != nullptr) give_alone(alone);
        close_all(to_close);  // STACK_POOL-2
    }
}

// \returns a list to close, once enough stacks have come together.
stack* stack_pool::put(stack* s) noexcept {
    auto& c = class_of(s->home->stack_bytes());
    bool const warm = c.warm_count < std::max<std::size_t>(1, options_.warm_bytes / s->home->stack_bytes());
    auto& list = warm ? c.warm : c.surplus;
    if (warm && list == nullptr) c.last_warm = s;
    s->next = list;
    list = s;
    if (++(warm ? c.warm_count : c.surplus_count) > spare_stacks) has_surplus_.store(true, relaxed);
    --counts_.in_use;
    ++counts_.idle;
    if (c.surplus_count < closing_batch) return nullptr;
    counts_.idle -= c.surplus_count;
    c.surplus_count = 0;
    return std::exchange(c.surplus, nullptr);
}

// Closes the stacks of `list`, which only the caller knows: they are neither warm nor surplus any
// more, and their slots are still claimed.
void stack_pool::close_all(stack* list) noexcept {
    while (list != nullptr) list = close_some(list);
}

// Closes some of the stacks. \returns the rest of the list.
stack* stack_pool::close_some(stack* list) noexcept {
    struct closed_stack {
        slab* home;
        std::uint32_t slot;
        bool guarded;
    };
    // copied, because the descriptions go with their pages
    std::array<closed_stack, page_return::at_most> closed;
    std::size_t n = 0;
    page_return pages;
    while (list != nullptr && !pages.full()) {
        stack* const s = list;
        list = s->next;
        closed[n++] = {s->home, s->slot, s->guard != guard_kind::none};
        s->home->close(*s, pages);
    }
    pages.give_back();
    const lock_guard lock(mutex_);
    for (std::size_t i = 0; i < n; ++i) {
        auto& home = *closed[i].home;
        --(closed[i].guarded ? counts_.guarded : counts_.unguarded);
        home.unclaim(closed[i].slot);
        auto& c = class_of(home.stack_bytes());
        list_as_room(c, home);
        if (home.is_unused() && ++c.unused_slabs > spare_slabs) has_surplus_.store(true, relaxed);
    }
    return list;
}

// ---- giving memory back

time_point stack_pool::trim(time_point now, std::size_t n) noexcept {
    if (!has_surplus()) return never;
    time_point const next = look_at_periods(now);
    if (next > now) return next;
    while (n > 0) {  // each turn takes and releases the lock
        std::size_t const closed = close_chosen(n);
        if (closed == 0 && !unmap_one()) break;
        n -= std::max<std::size_t>(closed, 1);
    }
    return has_surplus() ? now : never;
}

void stack_pool::close_idle() noexcept {
    close_all_chosen();
    {
        const lock_guard lock(mutex_);
        for (auto& c : classes_) {
            let_rest(c);
            choose_to_close(c, c.warm_count, 0);
            c.unneeded_warm.fell_to(c.warm_count);
        }
    }
    close_all_chosen();
    {
        const lock_guard lock(mutex_);
        for (auto& c : classes_) {
            unlink_unused(c, c.unused_slabs + spare_slabs);
            c.unneeded_slabs.fell_to(c.unused_slabs);
        }
    }
    while (unmap_one()) {}
}

void stack_pool::close_all_chosen() noexcept {
    while (close_chosen(std::numeric_limits<std::size_t>::max()) != 0) {}
}

// \returns `now` if there is something to give back, otherwise when to look again.
time_point stack_pool::look_at_periods(time_point now) noexcept {
    const lock_guard lock(mutex_);
    if (is_giving_back()) return now;
    time_point soonest = never;
    for (auto& c : classes_) {
        if (c.warm_count + c.surplus_count > spare_stacks || c.unneeded_warm.ends() != never) {
            if (c.unneeded_warm.ends() == never) let_rest(c);
            if (auto const least = c.unneeded_warm.look(now, c.warm_count)) choose_to_close(c, *least, spare_stacks);
        }
        if (c.unused_slabs > spare_slabs || c.unneeded_slabs.ends() != never)
            if (auto const least = c.unneeded_slabs.look(now, c.unused_slabs)) unlink_unused(c, *least);
        soonest = std::min({soonest, c.unneeded_warm.ends(), c.unneeded_slabs.ends()});
    }
    note_surplus();
    if (!has_surplus()) return never;
    return is_giving_back() || soonest == never ? now : soonest;
}

void stack_pool::let_rest(size_class& c) noexcept {
    if (c.warm == nullptr) return;
    c.last_warm->next = c.rested;
    c.rested = std::exchange(c.warm, nullptr);
}

// `rested`: how many stacks that list has. Of these the `spare` warmest stay.
void stack_pool::choose_to_close(size_class& c, std::size_t rested, std::size_t spare) noexcept {
    std::size_t const stay = std::min(rested, spare), go = rested - stay;
    stack** end_of_rest = &c.rested;
    for (std::size_t n = stay; n > 0; --n) end_of_rest = &(*end_of_rest)->next;
    c.to_close = std::exchange(*end_of_rest, nullptr);
    c.warm_count -= go;
    counts_.idle -= go + std::exchange(c.surplus_count, 0);
    while (c.surplus != nullptr) {
        stack* const s = c.surplus;
        c.surplus = s->next;
        s->next = std::exchange(c.to_close, s);
    }
}

void stack_pool::unlink_unused(size_class& c, std::size_t n) noexcept {
    if (n <= spare_slabs) return;
    n -= spare_slabs;
    auto const goes = [&](slab const& s) WEFT_REQUIRES(mutex_) { return s.is_unused() && &class_of(s.stack_bytes()) == &c; };
    // c.room lists every slab of this size that has room
    for (slab** at = &c.room; *at != nullptr;) {
        slab& s = **at;
        if (n == 0 || !goes(s)) {
            at = &s.next_room;
            continue;
        }
        *at = s.next_room;
        s.listed_as_room = false;
        --n;
        --c.unused_slabs;
    }
    for (slab** at = &slabs_; *at != nullptr;) {
        slab& s = **at;
        if (s.listed_as_room || !goes(s)) {
            at = &s.next;
            continue;
        }
        *at = s.next;
        s.next = std::exchange(leaving_, &s);
        counts_.mapped_slots -= s.slots();
        counts_.mapped_bytes -= s.mapped_bytes();
    }
}

// Closes stacks that trim() has chosen. \returns how many: n at most, and all of one size.
std::size_t stack_pool::close_chosen(std::size_t n) noexcept {
    stack* list = nullptr;
    std::size_t taken = 0;
    {
        const lock_guard lock(mutex_);
        auto const c = std::find_if(classes_.begin(), classes_.end(), [](auto const& each) { return each.to_close != nullptr; });
        if (c == classes_.end()) return 0;
        for (stack** end = &list; taken < n && c->to_close != nullptr; ++taken) {
            stack* const s = c->to_close;
            c->to_close = std::exchange(s->next, nullptr);
            *end = s;
            end = &s->next;
        }
        note_surplus();
    }
    close_all(list);  // STACK_POOL-2
    return taken;
}

bool stack_pool::unmap_one() noexcept {
    slab* gone = nullptr;
    {
        const lock_guard lock(mutex_);
        gone = leaving_;
        if (gone == nullptr) return false;
        leaving_ = gone->next;
        note_surplus();
    }
    delete gone;  // STACK_POOL-2
    return true;
}

bool stack_pool::is_giving_back() const noexcept {
    return leaving_ != nullptr || std::any_of(classes_.begin(), classes_.end(), [](auto const& c) { return c.to_close != nullptr; });
}

void stack_pool::note_surplus() noexcept {
    bool const any = is_giving_back() || std::any_of(classes_.begin(), classes_.end(), [](auto const& c) {
        return c.warm_count + c.surplus_count > spare_stacks || c.unused_slabs > spare_slabs;
    });
    has_surplus_.store(any, relaxed);
}

stack_statistics stack_pool::statistics() const noexcept {
    const lock_guard lock(mutex_);
    return counts_;
}

}  // namespace weft::detail
