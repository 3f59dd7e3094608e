// exceptions_test.cpp - handlers and unwindings that park, and go on on another thread (ask B4;
// seed R18).
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <weft/deadline.hpp>
#include <weft/scope.hpp>

#include "support/random.hpp"
#include "support/scale.hpp"
#include "torture.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

class exceptions_under_torture : public under_torture {};
INSTANTIATE_TEST_SUITE_P(workers, exceptions_under_torture, ::testing::Values(2u, 4u));

bool is_clean() { return std::uncaught_exceptions() == 0 && std::current_exception() == nullptr; }

/// So many fibers do it at once, each with its number; none leaves anything behind on its thread.
template <class F>
void all_do(int fibers, F body) {
    std::vector<fiber<>> all;
    for (int i = 0; i < fibers; ++i)
        all.push_back(spawn([i, &body] {
            EXPECT_TRUE(is_clean());
            body(i);
            EXPECT_TRUE(is_clean());
            this_fiber::yield();
            EXPECT_TRUE(is_clean());
        }));
    for (auto& f : all) f.join();
}

TEST_P(exceptions_under_torture, seed_R18_are_thrown_again_by_handlers_that_have_moved) {
    rt.run([] {
        all_do(20, [](int i) {
            for (unsigned way = 0; way < ways_to_park; ++way) {
                const auto mine = std::to_string(i) + "/" + std::to_string(way);
                try {
                    try {
                        throw std::runtime_error(mine);
                    } catch (const std::runtime_error& e) {
                        const auto before = std::current_exception();
                        EXPECT_TRUE(park(way));
                        EXPECT_EQ(std::uncaught_exceptions(), 0);
                        EXPECT_EQ(std::current_exception(), before);
                        EXPECT_EQ(e.what(), mine);
                        throw;
                    }
                } catch (const std::exception& e) {
                    EXPECT_TRUE(park(way));
                    EXPECT_EQ(e.what(), mine);
                    EXPECT_EQ(std::uncaught_exceptions(), 0);
                }
            }
        });
    });
}

struct parks_when_destroyed {
    unsigned way;
    int expected;
    ~parks_when_destroyed() {
        const auto handled = std::current_exception();  // by a handler further out
        EXPECT_EQ(std::uncaught_exceptions(), expected);
        EXPECT_TRUE(park(way));
        EXPECT_EQ(std::uncaught_exceptions(), expected);
        EXPECT_EQ(std::current_exception(), handled);
    }
};

TEST_P(exceptions_under_torture, seed_R18_unwind_through_destructors_that_move) {
    rt.run([] {
        all_do(20, [](int i) {
            for (unsigned way = 0; way < ways_to_park; ++way) {
                try {
                    const parks_when_destroyed outer{way + 1, 1};
                    const parks_when_destroyed inner{way, 1};
                    throw i;
                } catch (int thrown) {
                    EXPECT_EQ(thrown, i);
                    EXPECT_EQ(std::uncaught_exceptions(), 0);
                }
                const parks_when_destroyed quietly{way, 0};
            }
        });
    });
}

// One exception in a destructor that runs for another, both with handlers that park.
struct throws_inside {
    int i;
    ~throws_inside() {
        try {
            EXPECT_TRUE(park(0));
            EXPECT_EQ(std::uncaught_exceptions(), 1);
            const parks_when_destroyed guard{1, 2};
            throw std::to_string(i);
        } catch (const std::string& s) {
            EXPECT_EQ(std::uncaught_exceptions(), 1);
            EXPECT_TRUE(park(2));
            EXPECT_EQ(s, std::to_string(i));
            EXPECT_EQ(std::uncaught_exceptions(), 1);
        }
    }
};

TEST_P(exceptions_under_torture, seed_R18_nest) {
    rt.run([] {
        all_do(20, [](int i) {
            try {
                try {
                    const throws_inside guard{i};
                    throw i;
                } catch (int outer) {
                    EXPECT_TRUE(park(1));
                    try {
                        const throws_inside guard{-i};
                        throw std::runtime_error(std::to_string(outer));
                    } catch (const std::runtime_error& e) {
                        EXPECT_TRUE(park(0));
                        EXPECT_EQ(e.what(), std::to_string(i));
                    }
                    EXPECT_TRUE(park(2));
                    throw;  // the outer one
                }
            } catch (int again) {
                EXPECT_TRUE(park(0));
                EXPECT_EQ(again, i);
            }
        });
    });
}

// NOLINTNEXTLINE(misc-no-recursion)
void dig(std::minstd_rand& random, int depth, int& parked) {
    const int mine = depth;
    try {
        if (below(random, 2) == 0) park(below(random, ways_to_park)), ++parked;
        if (depth == 0) throw mine;
        dig(random, depth - 1, parked);
    } catch (int theirs) {
        if (below(random, 2) == 0) park(below(random, ways_to_park)), ++parked;
        EXPECT_EQ(std::uncaught_exceptions(), 0);
        EXPECT_EQ(theirs, depth == 0 ? 0 : depth - 1);
        if (below(random, 4) == 0) throw mine;
        try {
            std::rethrow_exception(std::current_exception());
        } catch (int same) {
            EXPECT_EQ(same, theirs);
        }
        throw mine;
    }
}

TEST_P(exceptions_under_torture, seed_R18_nest_at_random_stress) {
    const seed s;
    rt.run([&] {
        all_do(scaled(100), [&](int i) {
            auto random = s.of(static_cast<std::uint64_t>(i));
            int parked = 0;
            const int depth = static_cast<int>(below(random, 12));
            for (int round = 0; round < 5; ++round) {
                try {
                    dig(random, depth, parked);
                    ADD_FAILURE() << "nothing thrown";
                } catch (int last) {
                    EXPECT_EQ(last, depth);
                }
            }
        });
    });
}

TEST_P(exceptions_under_torture, one_of_them_is_rethrown_by_many_fibers_at_once) {
    rt.run([] {
        std::exception_ptr shared;
        try {
            throw std::runtime_error("shared");
        } catch (const std::runtime_error&) {
            this_fiber::yield();
            shared = std::current_exception();
        }
        all_do(20, [&](int) {
            try {
                std::rethrow_exception(shared);
            } catch (const std::runtime_error& e) {
                EXPECT_TRUE(park(1));
                EXPECT_STREQ(e.what(), "shared");
                EXPECT_EQ(std::current_exception(), shared);
            }
        });
    });
}

struct parks_under_a_shield {
    bool& done;
    ~parks_under_a_shield() {
        const shield no_cancel;
        EXPECT_TRUE(park(1));
        EXPECT_EQ(std::uncaught_exceptions(), 1);
        done = true;
    }
};

TEST_P(exceptions_under_torture, cancelled_unwinds_through_destructors_that_move) {
    rt.run([] {
        for (int i = 0; i < 20; ++i) {
            bool cleaned = false;
            auto f = spawn([&] {
                const parks_under_a_shield guard{cleaned};
                this_fiber::sleep_for(1h);
            });
            this_fiber::yield();
            f.request_stop();
            EXPECT_THROW(f.join(), fiber_cancelled);
            EXPECT_TRUE(cleaned);
            EXPECT_TRUE(is_clean());
        }
    });
}

TEST_P(exceptions_under_torture, go_from_a_child_to_its_joiner) {
    rt.run([] {
        all_do(10, [](int i) {
            try {
                with_scope([&](scope& s) {
                    s.spawn([&] {
                        park(1);
                        throw std::runtime_error(std::to_string(i));
                    });
                    this_fiber::sleep_for(1h);
                });
                ADD_FAILURE() << "nothing thrown";
            } catch (const std::runtime_error& e) {
                EXPECT_TRUE(park(0));
                EXPECT_EQ(e.what(), std::to_string(i));
            }
        });
    });
}

}  // namespace
}  // namespace weft::test
