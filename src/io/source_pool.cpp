#include "io/source_pool.hpp"

#include <weft/detail/annotated_locks.hpp>

#include <sys/mman.h>

#include <memory>
#include <new>
#include <utility>

#include "base/exiting.hpp"
#include "base/fork.hpp"

namespace weft::detail {
namespace {

// Whole pages: malloc() could give none back that a slab is on (docs/design/io.md).
constexpr std::size_t slab_bytes = 16 << 10;  // chosen: few system calls, and little for few sources
constexpr std::size_t slab_sources = (slab_bytes - sizeof(void*)) / sizeof(io_source);

struct source_slab {
    io_source sources[slab_sources];
    source_slab* next = nullptr;
};
static_assert(sizeof(source_slab) <= slab_bytes);

source_slab* make_slab() noexcept {
    void* const at = ::mmap(nullptr, slab_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? nullptr : ::new (at) source_slab;
}

void free_slab(source_slab* s) noexcept {
    std::destroy_at(s);
    ::munmap(s, slab_bytes);
}

spin_lock lock;
io_source* free_sources WEFT_GUARDED_BY(lock) = nullptr;
source_slab* slabs WEFT_GUARDED_BY(lock) = nullptr;
std::size_t in_use WEFT_GUARDED_BY(lock) = 0;
int engines WEFT_GUARDED_BY(lock) = 0;

void forget_others() noexcept WEFT_RELEASE(lock) {
    source_slab* const first = slabs;
    lock.unlock();
    for (source_slab* s = first; s; s = s->next)
        for (auto& source : s->sources) source.forget_others();
}

[[gnu::constructor(before_static_objects)]] void sources_follow_forks() noexcept {  // FORK-3
    follow_forks({.before = []() WEFT_ACQUIRE(lock) { lock.lock(); },
                  .in_parent = []() WEFT_RELEASE(lock) { lock.unlock(); },
                  .in_child = forget_others});
}

[[gnu::destructor(after_static_objects)]] void free_slabs() noexcept {
    if (!library_is_closed()) return;
    const lock_guard guard(lock);
    if (in_use != 0 || engines != 0) return;
    free_sources = nullptr;
    while (slabs) free_slab(std::exchange(slabs, slabs->next));
}

io_source* take() noexcept {
    const lock_guard guard(lock);
    io_source* const s = free_sources;
    if (!s) return nullptr;
    free_sources = s->next_free;
    ++in_use;
    return s;
}

bool grow() noexcept {
    auto* const fresh = make_slab();
    if (!fresh) return false;
    for (std::size_t i = 0; i + 1 < slab_sources; ++i) fresh->sources[i].next_free = &fresh->sources[i + 1];
    const lock_guard guard(lock);
    fresh->sources[slab_sources - 1].next_free = free_sources;
    free_sources = &fresh->sources[0];
    fresh->next = slabs;
    slabs = fresh;
    return true;
}

}  // namespace

io_source* make_source(int fd, unsigned forks_then) noexcept {
    io_source* s = take();
    while (!s) {
        if (!grow()) return nullptr;
        s = take();
    }
    s->open(fd, forks_then);
    return s;
}

void recycle(io_source& s) noexcept {
    const lock_guard guard(lock);
    s.next_free = free_sources;
    free_sources = &s;
    --in_use;
}

void count_engine(int n) noexcept {
    const lock_guard guard(lock);
    engines += n;
}

void for_each_source(void (*f)(io_source&, void*), void* data) noexcept {
    source_slab* first = nullptr;
    {
        const lock_guard guard(lock);
        first = slabs;
    }
    // Slabs are only ever added, at the front.
    for (source_slab* s = first; s; s = s->next)
        for (auto& source : s->sources) f(source, data);
}

}  // namespace weft::detail
