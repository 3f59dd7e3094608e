// planted.hpp - three programs with a bug that most runs do not show, and the same three without it.
#pragma once

#include <weft/weft.hpp>

#include <chrono>
#include <deque>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>

namespace planted {

using namespace std::chrono_literals;

enum class version { broken, mended };

// ---- 1. A lost wake-up

/// Numbers that one fiber puts in and another takes out.
class queue {
public:
    explicit queue(version v) : version_(v) {}

    void put(int n) {
        {
            const std::lock_guard guard(lock_);
            numbers_.push_back(n);
        }
        filled_.notify_one();
    }

    int take() {
        std::unique_lock lock(lock_);
        while (numbers_.empty()) {
            if (version_ == version::broken) {
                lock.unlock();  // "others need it more": a put() that comes now wakes nobody
                lock.lock();
            }
            filled_.wait(lock);
        }
        const int n = numbers_.front();
        numbers_.pop_front();
        return n;
    }

private:
    const version version_;
    weft::mutex lock_;
    weft::condition_variable filled_;
    std::deque<int> numbers_;
};

inline void hand_over(version v) {
    queue q(v);
    weft::with_scope([&](weft::scope& s) {
        s.spawn({.name = "giver"}, [&] {
            for (int n = 0; n < 3; ++n) q.put(n);
        });
        s.spawn({.name = "taker"}, [&] {
            for (int n = 0; n < 3; ++n)
                if (q.take() != n) throw std::logic_error("out of order");
        });
    });
}

// ---- 2. A deadlock by the order of locks

struct account {
    int cents = 1000;
    weft::mutex lock;
};

inline void transfer(account& from, account& to, int cents, version v) {
    if (v == version::mended) {
        const std::scoped_lock both(from.lock, to.lock);  // takes them in an order that does no harm
        from.cents -= cents;
        to.cents += cents;
    } else {
        const std::lock_guard first(from.lock);
        const std::lock_guard second(to.lock);
        from.cents -= cents;
        to.cents += cents;
    }
}

inline void pay_each_other(version v) {
    account ann, bob;
    weft::with_scope([&](weft::scope& s) {
        s.spawn({.name = "ann pays bob"}, [&] { transfer(ann, bob, 10, v); });
        s.spawn({.name = "bob pays ann"}, [&] { transfer(bob, ann, 20, v); });
    });
    if (ann.cents != 1010 || bob.cents != 990) throw std::logic_error("money is lost");
}

// ---- 3. A retry that pays twice

/// Takes orders from afar: each way is from 0 to 60 ms long, as the seed will have it.
class bank {
public:
    explicit bank(version v) : version_(v) {}

    /// Waits for the answer. \throws weft::timeout_error
    void pay(int order, int cents) {
        weft::channel<bool> answer(1);
        weft::spawn_detached({.name = "order"}, [this, order, cents, answer]() mutable {
            travel();
            execute(order, cents);
            travel();
            answer.try_send(true);
        });
        weft::with_timeout(100ms, [&] { answer.receive(); });
    }

    int paid() const { return paid_; }

private:
    static void travel() { weft::this_fiber::sleep_for(std::chrono::milliseconds(weft::draw(61))); }

    void execute(int order, int cents) {
        if (version_ == version::mended && !executed_.insert(order).second) return;
        paid_ += cents;
    }

    const version version_;
    int paid_ = 0;
    std::set<int> executed_;
};

inline void pay_for_sure(version v) {
    bank b(v);
    for (bool done = false; !done;) {
        try {
            b.pay(1, 100);
            done = true;
        } catch (const weft::timeout_error&) {}  // perhaps it was not heard: once more
    }
    weft::this_fiber::sleep_for(1s);  // whatever is under way arrives
    if (b.paid() != 100) throw std::logic_error("paid " + std::to_string(b.paid()) + " instead of 100");
}

}  // namespace planted
