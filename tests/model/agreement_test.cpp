// agreement_test.cpp - random small programs: the checker shows exactly the outcomes that the axioms of C++20 allow, no more
// and no fewer, apart from those it says it does not explore.
#include "model/axiomatic.hpp"

#include <cstdlib>
#include <random>

#include "model/litmus.hpp"

namespace litmus {
namespace {

using axiomatic::instruction;
using axiomatic::kind;
using axiomatic::program;

class generator {
public:
    explicit generator(unsigned seed) : random_(seed) {}

    /// Two threads or more of two accesses each, most often to both locations and often with a fence between: the shape of
    /// nearly every program that tells memory models apart. Shorter programs get a few instructions more.
    program make() {
        constexpr unsigned threads[] = {2, 2, 2, 2, 2, 3, 3, 3, 3, 4};
        program p(threads[below(10)]);
        for (auto& thread : p) {
            const unsigned first = below(2);
            thread.push_back(access(first));
            if (below(2) == 0 && p.size() < 4) thread.push_back(a_fence());
            thread.push_back(access(below(4) == 0 ? first : 1 - first));
        }
        for (auto more = below(2) * (4 - p.size()); more > 0; --more) {
            auto& thread = p[below(static_cast<unsigned>(p.size()))];
            const auto at = static_cast<std::ptrdiff_t>(below(static_cast<unsigned>(thread.size()) + 1));
            thread.insert(thread.begin() + at, below(4) == 0 ? a_fence() : access(below(2)));
        }
        return p;
    }

private:
    unsigned below(unsigned n) { return static_cast<unsigned>(random_() % n); }

    instruction access(unsigned location) {
        constexpr kind kinds[] = {kind::load, kind::load, kind::store, kind::store, kind::exchange};
        const kind what = kinds[below(5)];
        return {what, location, what == kind::load ? 0 : ++value_, order_for(what)};
    }
    instruction a_fence() { return {kind::fence, 0, 0, order_for(kind::fence)}; }
    std::memory_order order_for(kind what) {
        switch (what) {
            case kind::load: return pick({relaxed, relaxed, acquire, seq_cst});
            case kind::store: return pick({relaxed, relaxed, release, seq_cst});
            case kind::exchange: return pick({relaxed, acquire, release, acq_rel, seq_cst});
            case kind::fence: return pick({acquire, release, acq_rel, seq_cst, seq_cst, seq_cst});
        }
        return relaxed;
    }
    std::memory_order pick(std::initializer_list<std::memory_order> from) {
        return from.begin()[below(static_cast<unsigned>(from.size()))];
    }

    std::mt19937 random_;
    int value_ = 0;
};

outcome run(const program& p, model::execution& x) {
    atomic<int> at[2] = {0, 0};
    std::vector<outcome> read(p.size());
    for (std::size_t t = 0; t < p.size(); ++t)
        x.thread([&, t] {
            for (const instruction& i : p[t]) {
                atomic<int>& a = at[i.location];
                switch (i.what) {
                    case kind::load: read[t].push_back(a.load(i.order)); break;
                    case kind::store: a.store(i.value, i.order); break;
                    case kind::exchange: read[t].push_back(a.exchange(i.value, i.order)); break;
                    case kind::fence: fence(i.order); break;
                }
            }
        });
    x.join_all();
    outcome o;
    for (const outcome& r : read) o.insert(o.end(), r.begin(), r.end());
    o.push_back(at[0].load(relaxed));
    o.push_back(at[1].load(relaxed));
    return o;
}

std::string list(const outcomes& some) {
    std::string out;
    for (const outcome& o : some) {
        for (const int v : o) out += ' ' + std::to_string(v);
        out += '\n';
    }
    return out;
}

outcomes without(outcomes a, const outcomes& b) {
    std::erase_if(a, [&](const outcome& o) { return b.contains(o); });
    return a;
}

unsigned setting(const char* name, unsigned otherwise) {
    const char* const given = std::getenv(name);
    return given != nullptr ? static_cast<unsigned>(std::strtoul(given, nullptr, 10)) : otherwise;
}
unsigned seed() { return setting("WEFT_SEED", 1); }
unsigned programs() { return setting("WEFT_PROGRAMS", 300); }  // chosen: two seconds

TEST(agreement, checker_and_axioms_show_the_same_outcomes) {
    generator g(seed());
    for (unsigned n = 0; n < programs(); ++n) {
        const program p = g.make();
        const outcomes allowed = axiomatic::outcomes_of(p);
        const outcomes shown = all([&](model::execution& x) { return run(p, x); });
        ASSERT_EQ(allowed, shown) << "seed " << seed() << " program " << n << ": " << text(p) << "\nshown, not allowed:\n"
                                  << list(without(shown, allowed)) << "allowed, not shown:\n"
                                  << list(without(allowed, shown));
    }
}

TEST(agreement, bounded_search_with_room_enough_shows_the_same_as_sleep_sets) {
    generator g(seed() + 1);
    for (unsigned n = 0; n < programs() / 5; ++n) {
        const program p = g.make();
        const auto body = [&](model::execution& x) { return run(p, x); };
        ASSERT_EQ(all(body), all(body, {.preemptions = 3})) << "program " << n << ": " << text(p);
    }
}

}  // namespace
}  // namespace litmus
