// user_cache.hpp - users that were read lately, so that the same question need not reach Redis.
//
// A user stays for `lifetime`; so an answer is at most that old when another process has changed
// the user. What this process writes is seen at once:
//
// Invariants
//   USER_CACHE-1  A writer calls forget() before its command is sent, and again when it is
//                 answered. A reader takes writes() before it asks Redis, and keep() drops what it
//                 brings if there was a forget() since. So no user that was read before a write
//                 stays after it.
//   USER_CACHE-2  It holds at most `most_users`; if one more comes, all are dropped.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include <weft/mutex.hpp>

#include "store.hpp"

namespace variants {

/// For fibers and threads, several at once.
class user_cache {
public:
    explicit user_cache(std::chrono::nanoseconds lifetime) : lifetime_(lifetime) {}

    std::optional<users::user> find(std::string_view id) {
        const std::lock_guard guard(lock_);
        const auto at = users_.find(id);
        if (at == users_.end()) return std::nullopt;
        if (clock::now() < at->second.until) return at->second.user;
        users_.erase(at);
        return std::nullopt;
    }

    std::uint64_t writes() {
        const std::lock_guard guard(lock_);
        return writes_;
    }

    /// Keeps what was read, if nothing was written since `seen` was taken (USER_CACHE-1).
    void keep(const users::user& read, std::uint64_t seen) {
        const std::lock_guard guard(lock_);
        if (writes_ != seen) return;
        if (users_.size() >= most_users) users_.clear();
        users_.insert_or_assign(read.id, entry{read, clock::now() + lifetime_});
    }

    void forget(std::string_view id) {
        const std::lock_guard guard(lock_);
        ++writes_;
        if (const auto at = users_.find(id); at != users_.end()) users_.erase(at);
    }

private:
    using clock = std::chrono::steady_clock;
    static constexpr std::size_t most_users = 100'000;  // chosen: some 20 MB

    struct entry {
        users::user user;
        clock::time_point until;
    };
    struct hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view id) const noexcept { return std::hash<std::string_view>{}(id); }
    };

    const std::chrono::nanoseconds lifetime_;
    weft::mutex lock_;
    std::unordered_map<std::string, entry, hash, std::equal_to<>> users_;
    std::uint64_t writes_ = 0;
};

}  // namespace variants
