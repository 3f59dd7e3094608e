// hogs.hpp - kinds of code that computes or blocks and knows nothing of fibers, and k of one kind at work.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace bench {

/// One of a crew: what it is told, and how far it is.
class hog {
public:
    hog(const std::atomic<bool>& over, int file, void (*polite)()) noexcept : over_(over), held_file_(file), give_way_(polite) {}

    /// Counts a round. \returns  whether another is wanted.
    bool goes_on() noexcept {
        rounds_.store(rounds_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);  // nobody else stores
        return !over_.load(std::memory_order_relaxed);  // ends a loop and publishes nothing
    }
    /// Lets others run, as a polite fiber or thread does.
    void give_way() const { give_way_(); }
    /// A file that somebody else has locked until the end.
    int held_file() const noexcept { return held_file_; }
    std::uint64_t rounds() const noexcept { return rounds_.load(std::memory_order_relaxed); }

private:
    const std::atomic<bool>& over_;
    const int held_file_;
    void (*const give_way_)();
    alignas(64) std::atomic<std::uint64_t> rounds_{0};
};

struct hog_kind {
    std::string name;
    std::string about;
    bool computes;                         ///< and its rounds are its work
    void (*run)(hog&);                     ///< until it goes on no more
};

/// All of them.
std::span<const hog_kind> hog_kinds();
/// The hog of the seeds. \returns  1, 1, 2, 3, 5 for 0, 1, 2, 3, 4.
std::uint64_t fib(unsigned n);

/// k hogs of a kind; whoever runs them calls run() once for each.
class crew {
public:
    crew(const hog_kind&, unsigned k, void (*give_way)());
    ~crew();
    crew(const crew&) = delete;
    crew& operator=(const crew&) = delete;

    void run(unsigned i) { kind_.run(*hogs_[i]); }
    /// Tells all of them, and frees those that are blocked.
    void end();
    std::uint64_t rounds() const;

private:
    const hog_kind& kind_;
    std::atomic<bool> over_{false};
    const int held_file_;
    std::vector<std::unique_ptr<hog>> hogs_;
};

}  // namespace bench
