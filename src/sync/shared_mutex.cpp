// shared_mutex.cpp - a mutex for readers and writers, which take turns.
//
// Invariants
//   SHARED_MUTEX-1  There is a writer or there are readers, but not both.
//   SHARED_MUTEX-2  A reader that can be claimed waits only while there is a writer, or one in the
//                   list of writers.
//   SHARED_MUTEX-3  A writer that can be claimed waits only while there is a writer or a reader.
//   SHARED_MUTEX-4  A claimed waiter is counted already: as the writer, or among the readers.
#include <weft/shared_mutex.hpp>

#include <cstddef>

#include "base/exiting.hpp"
#include "base/panic.hpp"
#include "fiber/switch_point.hpp"
#include "fiber/wake_all.hpp"
#include "sync/waiting_room.hpp"
#include "sync/whose.hpp"

namespace weft {
namespace {

using namespace detail;

struct shared_mutex_state {  // all zeros: free, no waiters
    state_lock lock;
    wait_cell* writer WEFT_GUARDED_BY(lock) = nullptr;
    std::size_t readers WEFT_GUARDED_BY(lock) = 0;
    wait_list waiting_writers WEFT_GUARDED_BY(lock);
    wait_list waiting_readers WEFT_GUARDED_BY(lock);

    bool admits_writer() const noexcept WEFT_REQUIRES(lock) { return !writer && readers == 0; }
    bool admits_reader() const noexcept WEFT_REQUIRES(lock) { return !writer && waiting_writers.empty(); }

    void admit_writer(wait_list& admitted) noexcept WEFT_REQUIRES(lock) {
        waiter* const oldest = waiting_writers.claim_front();
        if (!oldest) return;
        writer = &oldest->cell();  // SHARED_MUTEX-4
        admitted.push_back(*oldest);
    }
    void admit_readers(wait_list& admitted) noexcept WEFT_REQUIRES(lock) {
        while (waiter* const oldest = waiting_readers.claim_front()) {
            ++readers;  // SHARED_MUTEX-4
            admitted.push_back(*oldest);
        }
    }
};

// The lock's state is all there is of it, so that they have one address. Readers are not known.
std::size_t writer_of(const void* lock, std::span<const wait_cell*> into) noexcept {
    auto& s = static_cast<opaque<sizeof(weft::shared_mutex)>*>(const_cast<void*>(lock))->as<shared_mutex_state>();
    s.lock.lock();
    const wait_cell* const writer = s.writer;
    s.lock.unlock();
    return only_holder(writer, into);
}

constexpr wait_kind shared_mutex_wait{
    .name = "shared mutex", .holders = writer_of, .held_at = {holder_place::form::pointer, offsetof(shared_mutex_state, writer)}};

}  // namespace

shared_mutex::~shared_mutex() {
    auto& s = state_.as<shared_mutex_state>();
    if (!s.admits_writer() || !s.waiting_writers.empty() || !s.waiting_readers.empty()) [[unlikely]]
        require_at_end(false, "shared_mutex: destroyed while locked", s.readers ? "it has readers" : whose(s.writer));
}

bool shared_mutex::try_lock() noexcept {
    switch_point();
    auto& s = state_.as<shared_mutex_state>();
    s.lock.lock();
    const bool admitted = s.admits_writer();
    if (admitted) s.writer = &this_cell();
    s.lock.unlock();
    return admitted;
}

bool shared_mutex::lock_until(time_point until) noexcept {
    switch_point();
    auto& s = state_.as<shared_mutex_state>();
    auto* const self = &this_cell();
    s.lock.lock();
    if (s.admits_writer()) {
        s.writer = self;
        s.lock.unlock();
        return true;
    }
    require(s.writer != self, "shared_mutex: locked again by its owner");
    const wait_options options{.kind = shared_mutex_wait, .object = this, .deadline = until, .may_stop = interruptible::no};
    if (wait_in(s.lock, s.waiting_writers, options)) return true;

    wait_list admitted;
    s.lock.lock();
    // SHARED_MUTEX-2: the readers may have waited behind this writer only
    if (s.admits_reader()) s.admit_readers(admitted);
    s.lock.unlock();
    unpark_all(admitted);
    return false;
}

void shared_mutex::unlock() noexcept {
    switch_point();
    auto& s = state_.as<shared_mutex_state>();
    wait_list admitted;
    s.lock.lock();
    if (s.writer != &this_cell()) [[unlikely]]
        panic("shared_mutex: unlocked by another than its owner", s.readers ? "it has readers" : whose(s.writer));
    s.writer = nullptr;
    s.admit_readers(admitted);
    if (admitted.empty()) s.admit_writer(admitted);
    s.lock.unlock();
    unpark_all(admitted);
}

bool shared_mutex::try_lock_shared() noexcept {
    switch_point();
    auto& s = state_.as<shared_mutex_state>();
    s.lock.lock();
    const bool admitted = s.admits_reader();
    if (admitted) ++s.readers;
    s.lock.unlock();
    return admitted;
}

bool shared_mutex::lock_shared_until(time_point until) noexcept {
    switch_point();
    auto& s = state_.as<shared_mutex_state>();
    s.lock.lock();
    if (s.admits_reader()) {
        ++s.readers;
        s.lock.unlock();
        return true;
    }
    require(s.writer != &this_cell(), "shared_mutex: locked again by its owner");
    return wait_in(s.lock, s.waiting_readers,
                   {.kind = shared_mutex_wait, .object = this, .deadline = until, .may_stop = interruptible::no});
}

void shared_mutex::unlock_shared() noexcept {
    switch_point();
    auto& s = state_.as<shared_mutex_state>();
    wait_list admitted;
    s.lock.lock();
    if (s.readers == 0) [[unlikely]]
        panic("shared_mutex: unlocked by a reader that is none", whose(s.writer));
    if (--s.readers == 0) {
        s.admit_writer(admitted);
        // the writers that these readers waited behind have given up
        if (admitted.empty()) s.admit_readers(admitted);
    }
    s.lock.unlock();
    unpark_all(admitted);
}

}  // namespace weft
