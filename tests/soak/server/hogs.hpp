// hogs.hpp - fibers of the soak's server that compute and never wait: in C++ of its own, and in C of others.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <random>

#include <weft/fiber.hpp>

namespace soak {

enum class code { own, foreign };

/// What reports call a fiber that computes here; no other fiber of the server may be reported as one that does.
inline constexpr const char* hog_name = "soak hog";

/// Computes without a park for that long: arithmetic, or one query of an SQLite library that knows nothing of fibers.
void compute_for(std::chrono::milliseconds, code);

/// A fiber that starts hogs of 5 to 500 ms, one or two at a time, until it is stopped.
class hog_herd {
public:
    explicit hog_herd(std::uint64_t seed) : random_(seed) {}

    /// Until now it starts none.
    void go_on(bool on) noexcept { on_.store(on); }
    /// \parks  until stopped; its hogs have ended then.
    void run();
    std::uint64_t started() const noexcept { return started_.load(); }

private:
    std::mt19937_64 random_;
    std::atomic<bool> on_{false};
    std::atomic<std::uint64_t> started_{0};
};

}  // namespace soak
