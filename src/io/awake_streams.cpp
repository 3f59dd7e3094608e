#include "io/awake_streams.hpp"

#include <algorithm>

#include <weft/fiber.hpp>

#include "base/free_pages.hpp"
#include "io/source.hpp"

namespace weft::detail {

/// Unless it is no longer idle as it was.
void awake_stream::call(std::uint32_t idle_word) noexcept {
    if (word_.call(idle_word)) source_->on_event({.readable = true, .writable = false, .hangup = false});  // AWAKE_STREAMS-2
}

void awake_streams::end_waits_after(std::chrono::nanoseconds limit) noexcept {
    // A word has room for 2^29 sweeps; a longer limit is as good as none.
    const auto periods = limit / period_;
    const bool has_effect = periods >= 2 && periods < (1 << 28);
    // AWAKE_STREAMS-3: rounded up, and one more since the first period had begun before the wait
    most_sweeps_ = has_effect ? static_cast<std::uint32_t>(periods) + (limit % period_ > limit.zero()) + 1 : 0;
}

void awake_streams::enter(awake_stream& s) {
    const lock_guard lock(mutex_);
    streams_.push_back(s);
    if (s.source_ && swept_++ == 0) came_.set();
}

void awake_streams::leave(awake_stream& s) noexcept {
    const lock_guard lock(mutex_);
    streams_.remove(s);
    if (s.source_) --swept_;
}

void awake_streams::sweep_until_stopped() {
    for (;;) {
        while (!has_swept() && called_ < wave_) came_.wait();  // AWAKE_STREAMS-4
        this_fiber::sleep_for(period_);
        sweep();
    }
}

void awake_streams::sweep() {
    // relaxed: only sweeps write it, and the count orders nothing
    const auto now = sweeps_.load(relaxed) + 1;
    sweeps_.store(now, relaxed);
    std::size_t called = 0;
    for_each([&](awake_stream& s) {
        const auto word = s.word_.idle_word();
        if (word == 0 || !s.source_ || awake_word::sweeps_since(word, now) < most_sweeps_) return;
        s.call(word);
        ++called;
    });
    called_ += called;
    most_called_ = std::max(most_called_, called);
    if (called_ >= wave_ && 16 * called < most_called_) end_wave();
}

void awake_streams::end_wave() noexcept {
    called_ = most_called_ = 0;
    waves_.fetch_add(1, relaxed);  // a count for tests
    give_back_free_pages();
}

void awake_streams::call_all() {
    for_each([&](awake_stream& s) {
        const auto word = s.word_.idle_word();
        if (word != 0 && s.source_) s.call(word);
    });
}

}  // namespace weft::detail
