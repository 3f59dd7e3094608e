// held_queue.hpp - a run queue with the tenure of one carrier, as a worker has it, for tests of the queue alone.
#pragma once

#include "sched/run_queue.hpp"

namespace weft::test {

template <class T, std::uint32_t least_capacity = 256, std::uint32_t most = 64>
class held_queue {
public:
    using queue_type = detail::run_queue<T, least_capacity, most>;
    using thief_type = detail::queue_thief<held_queue>;

    queue_type& queue() noexcept { return queue_; }
    void fill_batch() noexcept { queue_.fill_batch(queue_); }
    std::uint32_t take_half(T** out) noexcept { return queue_.take_half(out); }
    std::uint32_t size() const noexcept { return queue_.size(); }
    bool empty() const noexcept { return queue_.empty(); }
    void await_outside() const noexcept { hold_.await_outside(); }

    /// The owner: its visits, and what it does on them.
    class owner : public detail::tenure<held_queue>::holder {
    public:
        explicit owner(held_queue& q) noexcept : detail::tenure<held_queue>::holder(q.hold_), q_(q.queue_) {}
        bool push(T& item) noexcept { return q_.push(item); }
        T* push_next(T& item) noexcept { return q_.push_next(item); }
        T* pop() noexcept { return q_.pop(); }
        bool take_back(const T& item) noexcept { return q_.take_back(item); }
        bool take_last(const T& item) noexcept { return q_.take_last(item); }
        T* rotate(T& self) noexcept { return q_.rotate(self); }
        void fetch_ahead() noexcept { q_.fetch_ahead(); }
        void trim() noexcept { q_.trim(); }

    private:
        queue_type& q_;
    };

    class thief : public thief_type {
    public:
        explicit thief(held_queue& q) noexcept : thief_type(q.hold_) {}
    };

private:
    detail::tenure<held_queue> hold_{this};  // first: the model tests number its words
    queue_type queue_;
};

}  // namespace weft::test
