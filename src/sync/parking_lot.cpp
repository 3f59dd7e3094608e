#include "sync/parking_lot.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>

#include <weft/detail/annotated_locks.hpp>

#include "fiber/wake_all.hpp"
#include "sched/wait/wait.hpp"

namespace weft::detail {
namespace {

// measured: with a thousand fibers at one lock some 8,000 looks a second, which took a hundredth of a CPU
constexpr duration longest_look = std::chrono::milliseconds(128);

duration twice(duration look) noexcept { return look == parking::no_look ? look : std::min(2 * look, longest_look); }

time_point end_of_wait(const parking& p, time_point now, duration look) noexcept {
    return look == parking::no_look ? p.until : std::min(p.until, now + look);
}

/// Claims the waiter of a place. \returns null if it cannot be claimed.
waiter* claim(parking_place& p) noexcept { return p.now->claim() ? &*p.now : nullptr; }

}  // namespace

/// The calling fiber's place, and its being counted.
class parking_lot::guest {
public:
    guest(parking_lot& lot, const void* address) noexcept : lot_(lot), bucket_(lot.bucket_of(address)), mine_(address) {
        lot.parked_.fetch_add(1, relaxed);  // PARKING_LOT-2: ordered by the fence before the attempt
    }
    ~guest() {
        {
            const lock_guard guard(bucket_.lock);
            bucket_.places.remove(mine_);
        }
        lot_.parked_.fetch_sub(1, relaxed);  // a waker that still sees it looks into the bucket in vain
    }
    guest(const guest&) = delete;
    guest& operator=(const guest&) = delete;

    /// Makes `w` the wait that a waker ends.
    void publish(wait& w, bool was_overtaken = false) noexcept {
        const lock_guard guard(bucket_.lock);
        mine_.was_overtaken = was_overtaken;
        mine_.now.emplace(w.cell(), w.ticket());
        if (!mine_.linked()) bucket_.places.push_back(mine_);  // PARKING_LOT-4
    }

private:
    parking_lot& lot_;
    parking_bucket& bucket_;
    parking_place mine_;
};

parking_bucket& parking_lot::bucket_of(const void* address) noexcept {
    // The upper bits of the product depend on all bits of the address.
    const auto mixed = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(address)) * 0x9E37'79B9'7F4A'7C15u >> 48;
    return buckets_[mixed & (buckets_.size() - 1)];
}

int parking_lot::wait_for_lock(const parking& p, int (*attempt)(void*), void* what) noexcept {
    guest me(*this, p.address);
    bool was_overtaken = false;
    for (auto look = p.first_look;;) {
        const auto now = clock::now();
        if (now >= p.until) return ETIMEDOUT;
        wait w({.kind = p.kind, .object = p.object, .deadline = end_of_wait(p, now, look), .may_stop = interruptible::no});
        me.publish(w, was_overtaken);
        fence(seq_cst);  // pairs with is_counted_after_release() (PARKING_LOT-2)
        const int before = attempt(what);
        if (before != EBUSY && w.abandon()) return before;
        const bool woken = w.park() == wait_end::notified;
        if (before != EBUSY) {
            wake_oldest(p.address);  // PARKING_LOT-3
            return before;
        }
        if (const int after = attempt(what); after != EBUSY) return after;
        was_overtaken = was_overtaken || woken;
        look = woken ? p.first_look : twice(look);
    }
}

int parking_lot::wait_for_condition(const parking& p, void (*give_up)(void*), void* what) noexcept {
    guest me(*this, p.address);
    wait w({.kind = p.kind,
            .object = p.object,
            .deadline = end_of_wait(p, clock::now(), p.first_look),
            .may_stop = interruptible::no});
    me.publish(w);
    give_up(what);  // PARKING_LOT-6
    const bool woken = w.park() == wait_end::notified;
    return !woken && p.until != never && clock::now() >= p.until ? ETIMEDOUT : 0;
}

bool parking_lot::wake_oldest(const void* address) noexcept {
    auto& b = bucket_of(address);
    parking_place* oldest = nullptr;
    bool was_overtaken = false;
    {
        const lock_guard guard(b.lock);
        oldest = claim_oldest(b, address);
        was_overtaken = oldest && oldest->was_overtaken;
    }
    if (oldest) oldest->now->unpark();
    return was_overtaken;
}

parking_place* parking_lot::claim_oldest(parking_bucket& b, const void* address) noexcept {
    for (auto* p = b.places.front(); p; p = b.places.next(*p))
        if (p->address == address && claim(*p)) return p;
    return nullptr;
}

// Not analysed: the lock is taken in a loop.
void parking_lot::try_to_wake_oldest(const void* address) noexcept WEFT_NO_THREAD_SAFETY_ANALYSIS {
    auto& b = bucket_of(address);
    constexpr int most_tries = 32;  // chosen: about a microsecond, in which a holder that runs gives it up
    for (int i = 0; !b.lock.try_lock(); ++i) {
        if (i == most_tries) return;
        cpu_relax();
    }
    parking_place* const oldest = claim_oldest(b, address);
    b.lock.unlock();
    if (oldest) oldest->now->unpark();
}

void parking_lot::wake_all(const void* address) noexcept {
    auto& b = bucket_of(address);
    wait_list claimed;
    {
        const lock_guard guard(b.lock);
        for (auto* p = b.places.front(); p; p = b.places.next(*p))
            if (auto* const w = p->address == address ? claim(*p) : nullptr) claimed.push_back(*w);
    }
    unpark_all(claimed);
}

void parking_lot::forget_all() noexcept {
    for (auto& b : buckets_) std::construct_at(&b);  // a lock may be held by a thread that is not here
    parked_.store(0, relaxed);  // the only thread
}

}  // namespace weft::detail
