// chaos_test.cpp - actors in a tree of three levels are killed at random while others use them; nothing that was acknowledged is lost.
//
// WEFT_CHAOS_SECONDS: how long all of it lasts, at most 160; 3 without. Prints its seed.
#include <weft/supervisor.hpp>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "actor/actors.hpp"

namespace weft::test {
namespace {

std::chrono::nanoseconds time_for_each() {
    const char* const text = std::getenv("WEFT_CHAOS_SECONDS");
    return std::chrono::milliseconds(1'000 * (text ? std::clamp(std::atoi(text), 1, 160) : 3)) / 4;
}

/// What outlives the actors: each writes into one before it answers.
class ledger {
public:
    void write(int id) {
        const std::lock_guard guard(lock_);
        EXPECT_TRUE(written_.insert(id).second) << id << " was handled twice";
    }
    bool has(int id) {
        const std::lock_guard guard(lock_);
        return written_.contains(id);
    }

private:
    std::mutex lock_;
    std::set<int> written_;
};

struct tally {
    ledger book;
    std::atomic<int> next_id{0};
    std::atomic<int> begun{0};  // handlers of notes
    std::atomic<int> sent{0};
    std::atomic<int> dead{0};
    std::atomic<int> acknowledged{0};
    std::atomic<int> refused{0};
    std::atomic<int> lives{0}, alive{0};
};

struct clerk {
    struct entry {
        using reply = int;
        int id;
    };
    struct note {
        bool poisoned;
    };
    tally* all;

    explicit clerk(tally* t) : all(t) {
        ++all->lives;
        ++all->alive;
    }
    clerk(const clerk&) = delete;
    clerk& operator=(const clerk&) = delete;
    ~clerk() { --all->alive; }

    int handle(entry e) {
        if (e.id % 3 == 0) this_fiber::yield();
        all->book.write(e.id);
        if (e.id % 5 == 0) this_fiber::sleep_for(20us);  // written, and may be killed before it answers
        return e.id;
    }
    void handle(note n) {
        ++all->begun;
        if (n.poisoned) throw std::runtime_error("poisoned");
    }
};

class chaos : public actors {
protected:
    tally all;

    /// Asks and sends, and keeps the accounts of what it was told.
    void client(const std::vector<actor_ref<clerk>>& clerks, std::minstd_rand random, const std::atomic<bool>& over) {
        while (!over) {
            const auto& c = clerks[below(random, static_cast<unsigned>(clerks.size()))];
            if (below(random, 3) == 0) {
                c.send(clerk::note{below(random, 40) == 0});
                ++all.sent;
                continue;
            }
            const int id = ++all.next_id;
            try {
                EXPECT_EQ(below(random, 2) ? c.ask(clerk::entry{id}) : c.ask(clerk::entry{id}, 10ms), id);
                EXPECT_TRUE(all.book.has(id)) << id << " was acknowledged, and is lost";
                ++all.acknowledged;
            } catch (const actor_gone& e) {  // this life has ended, not the actor
                EXPECT_FALSE(c.ended()) << e.what();
                ++all.refused;
            } catch (const timeout_error&) {}
        }
    }

    static void killer(const std::vector<actor_ref<clerk>>& clerks, std::minstd_rand random, const std::atomic<bool>& over) {
        while (!over) {
            const auto& c = clerks[below(random, static_cast<unsigned>(clerks.size()))];
            switch (below(random, 4)) {
                case 0: c.stop(); break;
                case 1: link(c, clerks[below(random, static_cast<unsigned>(clerks.size()))]); break;
                default: c.kill();
            }
            this_fiber::sleep_for(up_to(random, 1ms));
        }
    }

    void fight(const seed& s) {
        supervisor top({.max_restarts = 1'000'000, .name = "top"});
        std::vector<actor_ref<clerk>> clerks;
        for (const auto strategy : {restart::one_for_one, restart::one_for_all, restart::rest_for_one}) {
            // Few restarts: the middle level gives up now and then, and the top one brings it back.
            const auto middle =
                top.start<supervisor>({.name = "middle"}, {.strategy = strategy, .max_restarts = 3, .within = 20ms});
            for (int i = 0; i < 4; ++i)
                clerks.push_back(middle.start<clerk>({.name = "clerk", .mailbox = 64, .shutdown = 2ms}, &all));
        }
        std::atomic<bool> over{false};
        with_scope([&](scope& in) {
            for (std::uint64_t i = 0; i < 6; ++i) in.spawn([&, i] { client(clerks, s.of(i), over); });
            for (std::uint64_t i = 6; i < 8; ++i) in.spawn([&, i] { killer(clerks, s.of(i), over); });
            this_fiber::sleep_for(time_for_each());
            over = true;
        });
        for (const auto& c : clerks) {  // all of them live, or will again
            EXPECT_FALSE(c.ended());
            EXPECT_TRUE(eventually_here([&] {
                try {
                    return c.ask(clerk::entry{++all.next_id}, 1s) > 0;
                } catch (const actor_gone&) {
                    return false;
                } catch (const timeout_error&) {
                    return false;
                }
            }));
        }
        EXPECT_FALSE(top.failed());
        EXPECT_GT(top.restarts(), 0u) << "no middle supervisor gave up";
    }
};
WEFT_ON_1_2_4_8_WORKERS(chaos);

TEST_P(chaos, seed_Q6_Q7_Q8_nothing_acknowledged_is_lost_when_actors_are_killed_stress) {
    const seed s;
    const auto before = on_dead_letter([&](const dead_letter& l) { all.dead += l.get_if<clerk::note>() != nullptr; });
    rt.run([&] {
        fight(s);
        EXPECT_EQ(all.alive, 0) << "of " << all.lives << " lives";
        expect_no_fibers();
    });
    on_dead_letter(before);
    EXPECT_EQ(all.sent, all.begun + all.dead) << "notes are handled or reported";
    EXPECT_GT(all.acknowledged, 0);
    EXPECT_GT(all.lives, 12);
    std::printf("lives %d, acknowledged %d, refused %d, notes %d\n", all.lives.load(), all.acknowledged.load(),
                all.refused.load(), all.sent.load());
}

}  // namespace
}  // namespace weft::test
