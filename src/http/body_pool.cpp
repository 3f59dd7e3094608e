#include "http/body_pool.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace weft::detail {
namespace {

// chosen: below it a body that grows costs little
constexpr std::size_t least_kept_bytes = 64 * 1024;
// chosen: so that what a burst has left goes soon, and a steady load keeps its memory
constexpr unsigned window = 256;

}  // namespace

std::size_t body_pool::reserve(std::string& body, std::size_t have, std::size_t left) noexcept {
    const auto needed = have + std::min(left, ahead);
    if (body.capacity() >= needed || needed < least_kept_bytes) return 0;
    std::string larger;
    {
        const lock_guard guard(lock_);
        const auto end = kept_.begin() + static_cast<std::ptrdiff_t>(count_);
        const auto found = std::find_if(kept_.begin(), end,
                                        [&](const auto& s) { return s.capacity() >= needed && s.capacity() <= needed + ahead; });
        if (found != end) {
            larger = std::move(*found);
            *found = std::move(kept_[--count_]);
            fewest_ = std::min(fewest_, count_);
        } else if (held_ + needed > budget) {
            return 0;
        } else {
            held_ += needed;
        }
    }
    // What was kept counts already, by its capacity.
    const auto reserved = std::max(larger.capacity(), needed);
    try {
        larger.reserve(needed);
    } catch (const std::bad_alloc&) {  // the body grows as its bytes arrive
        free({}, reserved);
        return 0;
    }
    // The bytes of the earlier body stay: a string that grows writes zeros first, and the next body
    // is received in place (request_decoder::body_room).
    larger.replace(0, have, body, 0, have);
    larger.resize(std::min(larger.size(), have + left));
    body.swap(larger);
    return reserved;
}

std::size_t body_pool::free(std::string&& body, std::size_t reserved) noexcept {
    std::array<std::string, most_kept> surplus;
    const auto bytes = body.capacity();
    std::size_t freed = 0;
    {
        const lock_guard guard(lock_);
        held_ -= reserved;
        if (bytes >= least_kept_bytes && bytes <= 2 * ahead && count_ < most_kept && held_ + bytes <= budget) {
            held_ += bytes;
            kept_[count_++] = std::move(body);
        } else if (bytes >= least_kept_bytes) {
            freed += bytes;
        }
        if (++calls_ == window) {
            calls_ = 0;
            for (std::size_t i = 0; i < fewest_; ++i) {
                surplus[i] = std::move(kept_[--count_]);
                held_ -= surplus[i].capacity();
                freed += surplus[i].capacity();
            }
            fewest_ = count_;
        }
    }
    // `body`, unless it is kept, and the surplus are freed without the lock.
    std::string().swap(body);
    return freed;
}

}  // namespace weft::detail
