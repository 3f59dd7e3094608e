// findings.hpp - what the parties of a soak count, and what they complain of.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string>

namespace soak {

struct counts {
    std::atomic<std::uint64_t> requests{0};     ///< answered
    std::atomic<std::uint64_t> failed{0};       ///< by 500, where it is allowed
    std::atomic<std::uint64_t> stopped{0};      ///< by 503: a request that the server was told to stop
    std::atomic<std::uint64_t> hang_ups{0};     ///< ours, in the middle of requests and answers
    std::atomic<std::uint64_t> slow{0};         ///< connections of slow clients that came to an end
    std::atomic<std::uint64_t> flooded{0};      ///< connections made by floods
    std::atomic<std::uint64_t> kills{0};        ///< of Redis
    std::atomic<std::uint64_t> freezes{0};
    std::atomic<std::uint64_t> cold{0};         ///< answers on connections that had gone cold
    std::atomic<std::uint64_t> most_asleep{0};  ///< connections without a fiber, as the server says
    std::atomic<std::uint64_t> hogs{0};         ///< asked for by requests
};

/// Complaints, the first few of them printed. From any fiber or thread.
class complaints {
public:
    explicit complaints(const char* kind) : kind_(kind) {}
    void add(const std::string& what) {
        const std::lock_guard guard(lock_);  // never held across a wait
        if (++count_ <= most_shown) std::printf("%s: %s\n", kind_, what.c_str());
        if (first_.empty()) first_ = what;
    }
    std::uint64_t count() const {
        const std::lock_guard guard(lock_);
        return count_;
    }
    std::string first() const {
        const std::lock_guard guard(lock_);
        return first_;
    }

private:
    static constexpr std::uint64_t most_shown = 20;
    const char* const kind_;
    mutable std::mutex lock_;
    std::uint64_t count_ = 0;
    std::string first_;
};

struct findings {
    counts n;
    complaints wrong{"wrong answer"};
    complaints reports{"unexpected line of the server"};
};

}  // namespace soak
