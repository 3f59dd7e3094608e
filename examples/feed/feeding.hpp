// feeding.hpp - people who need nutrients, fed all at once: by a thread each, or by a coroutine each.
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include <weft/coroutine.hpp>

struct person {
    struct nutrients {
        int fiber = 0;
        int calcium = 0;
        int iron = 0;
        bool operator==(nutrients const&) const = default;
    };

    explicit person(int needed) : needs{needed, needed, needed} {}

    [[nodiscard]] bool satisfied() const { return eaten == needs; }
    void eat() {
        ++eaten.fiber;
        ++eaten.calcium;
        ++eaten.iron;
    }

    nutrients eaten;
    nutrients needs;
};

using people = std::vector<std::unique_ptr<person>>;

inline people make_people(int how_many, int nutrients) {
    people all;
    for (int n = 0; n < how_many; ++n) all.push_back(std::make_unique<person>(nutrients));
    return all;
}

inline bool all_satisfied(people const& all) {
    for (auto const& p : all)
        if (!p->satisfied()) return false;
    return true;
}

/// Derived rather than given a function, so that the coroutine and its person belong together.
class feeder : public weft::coroutine<> {
public:
    explicit feeder(person& p) : coroutine(&feeder::run), person_(p) {}

private:
    void run() {
        while (!person_.satisfied()) {
            person_.eat();
            yield();
        }
    }
    person& person_;
};

inline void feed_with_fibers(people& all) {
    std::vector<std::unique_ptr<feeder>> feeders;
    for (auto& p : all) feeders.push_back(std::make_unique<feeder>(*p));
    std::size_t terminated = 0;
    while (terminated != feeders.size()) {
        for (auto& f : feeders) {
            if (!f) continue;
            if (f->state() == weft::coroutine_state::done) {
                ++terminated;
                f = nullptr;
                continue;
            }
            f->call();
        }
    }
}

inline void feed_with_threads(people& all) {
    std::vector<std::jthread> threads;
    for (auto& p : all)
        threads.emplace_back([&one = *p] {
            while (!one.satisfied()) one.eat();
        });
}
