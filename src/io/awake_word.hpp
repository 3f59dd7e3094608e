// awake_word.hpp - whether the fiber of a stream waits for its peer's next message, and what has ended
// that wait.
//
// The states are those in awake_streams.hpp, where AWAKE_STREAMS-2 and AWAKE_STREAMS-3 say what this is for.
#pragma once

#include <cstdint>

#include "base/atomic.hpp"

namespace weft::detail {

class awake_word {
public:
    /// `sweeps`: their number so far, of which the lower 29 bits are kept.
    void set_idle(std::uint32_t sweeps) noexcept { word_.store(sweeps * one_sweep | idle, seq_cst); }  // pairs with call()
    void set_timed() noexcept { word_.store(timed, seq_cst); }  // pairs with hang_up()
    void set_busy() noexcept { word_.store(busy, seq_cst); }  // pairs with call()

    bool is_called() const noexcept { return word_.load(acquire) == called; }  // pairs with call()

    /// \returns  what call() takes; zero if it is not idle.
    std::uint32_t idle_word() const noexcept {
        const auto word = word_.load(seq_cst);  // pairs with set_idle()
        return (word & state) == idle ? word : 0;
    }
    /// The number of sweeps since the set_idle() of that word.
    static std::uint32_t sweeps_since(std::uint32_t idle_word, std::uint32_t now) noexcept {
        return (now * one_sweep + idle - idle_word) / one_sweep;
    }

    /// idle -> called, unless there was another set_idle() since. An event of the source follows.
    [[nodiscard]] bool call(std::uint32_t idle_word) noexcept {
        return word_.compare_exchange_strong(idle_word, called, seq_cst, relaxed);  // pairs with is_called()
    }
    /// idle or timed -> hung_up, whatever the number of sweeps.
    [[nodiscard]] bool hang_up() noexcept {
        auto word = word_.load(seq_cst);  // pairs with set_idle()
        while ((word & state) == idle || word == timed)
            // pairs with set_idle() and set_busy()
            if (word_.compare_exchange_weak(word, hung_up, seq_cst, seq_cst)) return true;
        return false;
    }

private:
    static constexpr std::uint32_t busy = 0, idle = 1, timed = 2, called = 3, hung_up = 4, state = 7, one_sweep = 8;

    atomic<std::uint32_t> word_{busy};  // the state; if idle, plus one_sweep for each sweep before
};

}  // namespace weft::detail
