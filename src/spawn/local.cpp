// local.cpp - the values of fiber_local<T>: a table for each fiber or thread that has any.
//
// A fiber's task holds the number of the fiber's table.
//
// Invariants
//   LOCAL-1  Only the fiber itself uses its table, and only the thread itself uses the table of a
//            plain thread.
//   LOCAL-2  A slot belongs to one key at a time. A value that an earlier key left in a slot is not
//            found by a later key; it is destroyed with the fiber.
//   LOCAL-3  Tables never move: fibers give them back, and other fibers take them. Code that runs
//            on a fiber after its values were destroyed, such as the destructor of its result, uses
//            the thread's table.
//   LOCAL-4  A thread may have a table or none. Both are valid at any time, even after thread_local
//            objects are destroyed.
#include <weft/detail/annotated_locks.hpp>
#include <weft/detail/local_core.hpp>
#include <weft/detail/task.hpp>

#include <new>
#include <utility>
#include <vector>

#include "base/exiting.hpp"
#include "base/fork.hpp"
#include "base/futex_lock.hpp"
#include "base/never_destroyed.hpp"
#include "base/spin_lock.hpp"
#include "sched/worker_inline.hpp"

namespace weft::detail {

struct local_table {
    std::vector<local_value*> values;  // by slot
    local_value* youngest = nullptr;
    std::uint32_t next_free = 0;

    local_value* find(std::size_t slot, std::uint64_t key) const noexcept {
        local_value* const v = slot < values.size() ? values[slot] : nullptr;
        return v && v->key_ == key ? v : nullptr;  // LOCAL-2
    }
    /// Runs user code: each destructor may look at other values, and make new ones.
    void destroy_values() noexcept {
        while (local_value* const v = youngest) {
            youngest = v->older_;
            if (values[v->slot_] == v) values[v->slot_] = nullptr;
            delete v;
        }
    }
};

namespace {

/// All tables of fibers, in chunks that stay until the library is closed.
class table_store {
public:
    local_table& operator[](std::uint32_t number) noexcept {
        // pairs with grow(): a thread that took the number sees the chunk
        return chunks_[number / chunk_size].load(acquire)[number % chunk_size];
    }

    std::uint32_t take() {
        for (;;) {
            {
                const lock_guard guard(lock);
                if (const auto number = free_) {
                    free_ = (*this)[number].next_free;
                    ++in_use_;
                    return number;
                }
            }
            grow();
        }
    }
    void give(std::uint32_t number) noexcept {
        const lock_guard guard(lock);
        (*this)[number].next_free = free_;
        free_ = number;
        --in_use_;
    }
    void free_if_unused() noexcept {
        const lock_guard guard(lock);
        if (in_use_ != 0) return;
        free_ = 0;
        // relaxed: no thread has a number by which to read it
        while (used_ > 0) delete[] chunks_[--used_].exchange(nullptr, relaxed);
    }

    spin_lock lock;

private:
    // chosen: 16 million fibers with values
    static constexpr std::uint32_t chunk_size = 1024, most_chunks = 16 * 1024;

    void grow() {
        auto fresh = std::make_unique<local_table[]>(chunk_size);
        const lock_guard guard(lock);
        if (free_) return;  // another thread was faster
        require(used_ < most_chunks, "fiber_local: no room for the values of more fibers");
        const auto first = used_ * chunk_size;
        for (std::uint32_t i = chunk_size; i-- > (first == 0 ? 1u : 0u);) {
            fresh[i].next_free = free_;
            free_ = first + i;
        }
        chunks_[used_++].store(fresh.release(), release);  // pairs with operator[]
    }

    std::uint32_t free_ WEFT_GUARDED_BY(lock) = 0;
    std::uint32_t used_ WEFT_GUARDED_BY(lock) = 0;  // number of chunks
    std::uint32_t in_use_ WEFT_GUARDED_BY(lock) = 0;
    atomic<local_table*> chunks_[most_chunks]{};
};

table_store& tables() noexcept {
    static never_destroyed<table_store> all;  // outlives every fiber and every static object
    return *all;
}

/// A plain thread's table, made when the thread keeps its first value. A thread that keeps none
/// does not prevent the library from being closed.
constinit thread_local local_table* table_of_thread = nullptr;

[[gnu::noinline]] local_table*& this_thread_table() noexcept {
    asm volatile("" ::: "memory");  // the caller may run on another thread next time
    return table_of_thread;
}

void end_thread_table(void*) noexcept {
    auto*& mine = this_thread_table();
    mine->destroy_values();
    delete std::exchange(mine, nullptr);
}

/// Not a thread_local object, because that has only one life: code that runs after the table was
/// destroyed, at the end of the thread or of the process, may need another table (LOCAL-4).
local_table& make_thread_table() {
    auto made = std::make_unique<local_table>();
    if (!call_at_thread_end(end_thread_table)) throw std::bad_alloc();
    return *(this_thread_table() = made.release());
}

/// The place of the calling fiber's table number, or null if the caller uses the thread's table.
std::uint32_t* number_here() noexcept {
    auto* const f = this_fiber_block();
    if (!f || !f->body) return nullptr;
    auto& number = locals_of(*f->body);
    return number == no_more_locals ? nullptr : &number;  // LOCAL-3
}

/// The caller's table, or null if it has none yet.
local_table* table_here() noexcept {
    const auto* const number = number_here();
    if (!number) return this_thread_table();
    return *number == no_locals ? nullptr : &tables()[*number];
}

local_table& made_table_here() {
    if (auto* const t = table_here()) return *t;
    auto* const number = number_here();
    if (!number) return make_thread_table();
    *number = tables().take();
    return tables()[*number];
}

/// Which slots are taken by keys.
struct slot_store {
    futex_lock lock;
    std::vector<std::size_t> free WEFT_GUARDED_BY(lock);
    std::size_t used WEFT_GUARDED_BY(lock) = 0;
    std::uint64_t last_id WEFT_GUARDED_BY(lock) = 0;
};

slot_store& slots() noexcept {
    static never_destroyed<slot_store> all;  // outlives every fiber and every static object
    return *all;
}

[[gnu::constructor(before_static_objects)]] void locals_follow_forks() noexcept {  // FORK-3
    hold_lock_across_forks<tables>();
    hold_lock_across_forks<slots>();
}

[[gnu::destructor(after_static_objects)]] void free_tables_and_slots() noexcept {
    if (!library_is_closed()) return;
    tables().free_if_unused();
    auto& s = slots();
    const lock_guard guard(s.lock);
    // the free numbers are not used again; code that still runs gets new ones
    std::vector<std::size_t>().swap(s.free);
}

}  // namespace

void end_locals(std::uint32_t number) noexcept {
    tables()[number].destroy_values();
    tables().give(number);
}

local_key::local_key() {
    auto& s = slots();
    const lock_guard guard(s.lock);
    id_ = ++s.last_id;
    if (s.free.empty()) {
        s.free.reserve(s.used + 1);  // so that the destructor needs no memory
        slot_ = s.used++;
    } else {
        slot_ = s.free.back();
        s.free.pop_back();
    }
}

local_key::~local_key() {
    auto& s = slots();
    const lock_guard guard(s.lock);
    // no room: the library's memory was given back already
    if (s.free.size() < s.free.capacity()) s.free.push_back(slot_);
}

local_value* local_key::find() const noexcept {
    const auto* const t = table_here();
    return t ? t->find(slot_, id_) : nullptr;
}

local_value& local_key::keep(std::unique_ptr<local_value> v) const {
    auto& t = made_table_here();
    if (t.values.size() <= slot_) t.values.resize(slot_ + 1);
    v->key_ = id_;
    v->slot_ = slot_;
    v->older_ = t.youngest;
    t.values[slot_] = t.youngest = v.get();
    return *v.release();
}

}  // namespace weft::detail
