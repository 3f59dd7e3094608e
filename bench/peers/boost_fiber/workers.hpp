// workers.hpp - a Boost.Fiber scheduler on so many threads, and a count that fibers of all of them wait for.
#pragma once

#include <boost/fiber/all.hpp>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace fibers = boost::fibers;

/// Runs body in the first fiber. One thread goes in turns, several steal from each other.
template <class F>
void on_workers(unsigned workers, F&& body) {
    if (workers == 1) {
        fibers::use_scheduling_algorithm<fibers::algo::round_robin>();
        return body();
    }
    fibers::mutex lock;
    fibers::condition_variable change;
    bool over = false;
    std::vector<std::thread> threads;
    for (unsigned i = 1; i < workers; ++i)
        threads.emplace_back([&] {
            fibers::use_scheduling_algorithm<fibers::algo::work_stealing>(workers);
            std::unique_lock hold(lock);
            change.wait(hold, [&] { return over; });
        });
    fibers::use_scheduling_algorithm<fibers::algo::work_stealing>(workers);
    body();
    {
        const std::lock_guard hold(lock);
        over = true;
    }
    change.notify_all();
    for (auto& t : threads) t.join();
}

class countdown {
public:
    explicit countdown(std::uint64_t from) : left_(from) {}
    void done() {
        if (left_.fetch_sub(1) > 1) return;
        const std::lock_guard hold(lock_);
        reached_ = true;
        change_.notify_all();
    }
    void wait() {
        std::unique_lock hold(lock_);
        change_.wait(hold, [&] { return reached_; });
    }

private:
    std::atomic<std::uint64_t> left_;
    fibers::mutex lock_;
    fibers::condition_variable change_;
    bool reached_ = false;
};

/// Chosen: enough for all of these, and no more pages than are touched.
inline fibers::fixedsize_stack small_stacks() { return fibers::fixedsize_stack(16 * 1024); }

template <class F>
void start(F&& f, fibers::launch how = fibers::launch::post) {
    fibers::fiber(how, std::allocator_arg, small_stacks(), std::forward<F>(f)).detach();
}
