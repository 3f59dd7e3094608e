// gate.hpp - where the load waits while the server is looked at in peace.
#pragma once

#include <atomic>
#include <mutex>

#include <weft/condition_variable.hpp>
#include <weft/mutex.hpp>

namespace soak {

/// Parties go in, work until it is closing, let go of all they have, and leave. One fiber shuts and opens.
class gate {
public:
    /// Waits while it is shut. \returns false: the soak is over. \parks
    bool enter() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return is_over_ || !closing_.load(); });
        if (is_over_) return false;
        ++inside_;
        return true;
    }
    void leave() {
        const std::lock_guard lock(mutex_);
        --inside_;
        changed_.notify_all();
    }
    /// Whoever is inside leaves soon.
    bool closing() const noexcept { return closing_.load(); }

    /// \parks  until nobody is inside.
    void shut() {
        std::unique_lock lock(mutex_);
        closing_.store(true);
        changed_.wait(lock, [&] { return inside_ == 0; });
    }
    void open() {
        const std::lock_guard lock(mutex_);
        closing_.store(false);
        changed_.notify_all();
    }
    /// For good. Nobody is inside.
    void end() {
        const std::lock_guard lock(mutex_);
        is_over_ = true;
        changed_.notify_all();
    }

private:
    weft::mutex mutex_;
    weft::condition_variable changed_;
    std::atomic<bool> closing_{false};
    unsigned inside_ = 0;
    bool is_over_ = false;
};

/// The life of a party: `work` is called whenever the gate is open, and returns soon after it begins to close.
template <class F>
void work_while_open(gate& g, F&& work) {
    struct stay {
        gate& in;
        ~stay() { in.leave(); }
    };
    while (g.enter()) {
        const stay here{g};
        work();
    }
}

}  // namespace soak
