// ring_feeding.hpp - the same people fed by coroutines in a ring: each goes straight to the next, and no loop calls them.
#pragma once

#include <deque>

#include "feeding.hpp"

class ring_feeder : public weft::coroutine<> {
public:
    explicit ring_feeder(person& p) : coroutine(&ring_feeder::run), person_(p) {}

    /// Before the first call, and of no one who is in a ring already.
    void join_behind(ring_feeder& other) {
        next_ = other.next_;
        last_ = &other;
        next_->last_ = this;
        other.next_ = this;
    }

private:
    void run() {
        while (!person_.satisfied()) {
            person_.eat();
            if (next_ != this) transfer_to(*next_);
        }
        if (next_ != this) leave();
    }

    /// The others go on without this one, which is called once more to reach its end.
    void leave() {
        next_->last_ = last_;
        last_->next_ = next_;
        transfer_to(*next_);
    }

    person& person_;
    ring_feeder* next_ = this;
    ring_feeder* last_ = this;
};

inline void feed_in_ring(people& all) {
    std::deque<ring_feeder> ring;
    for (auto& p : all) {
        ring.emplace_back(*p);
        if (ring.size() > 1) ring.back().join_behind(ring[ring.size() - 2]);
    }
    for (auto& f : ring)   // the first call feeds everybody, the others let each reach its end
        if (f.state() != weft::coroutine_state::done) f.call();
}
