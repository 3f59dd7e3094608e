// worker_state_test.cpp - every flag of a worker: which transitions begin and end it, which others
// it brings along, and which transitions are refused.
#include "sched/worker_state.hpp"

#include <gtest/gtest.h>

namespace weft::detail {
namespace {

TEST(worker_state, begins_with_nothing) {
    const worker_state s;
    EXPECT_FALSE(s.has_news());
    EXPECT_FALSE(s.has_classes());
    EXPECT_FALSE(s.drains());
    EXPECT_FALSE(s.pinned_has_turn());
    EXPECT_FALSE(s.pinned_went_last());
    EXPECT_FALSE(s.seeks_better());
    EXPECT_FALSE(s.takes_in());
    EXPECT_FALSE(s.searches());
}

TEST(worker_state, a_timer_is_news_until_it_is_read) {
    worker_state s;
    s.note_timer();
    EXPECT_TRUE(s.has_news());
    s.read_news();
    EXPECT_FALSE(s.has_news());
}

// ---- classes

TEST(worker_state, WORKER_STATE_1_classes_are_news_until_they_end) {
    worker_state s;
    s.attend_classes();
    s.attend_classes();  // each fiber of a class that is queued calls it
    for (int pick = 0; pick < 3; ++pick) {
        EXPECT_TRUE(s.has_classes());
        EXPECT_TRUE(s.has_news());
        s.read_news();
    }
    s.end_classes();
    EXPECT_FALSE(s.has_classes());
    EXPECT_FALSE(s.has_news());
}

TEST(worker_state, WORKER_STATE_1_classes_that_are_not_attended_to_cannot_end) {
    worker_state s;
    EXPECT_DEATH(s.end_classes(), "WORKER_STATE-1");
    s.attend_classes();
    s.end_classes();
    EXPECT_DEATH(s.end_classes(), "WORKER_STATE-1");
}

TEST(worker_state, WORKER_STATE_2_better_fibers_are_sought_beside_classes_only) {
    worker_state s;
    EXPECT_DEATH(s.seek_better(), "WORKER_STATE-2");
    s.seek_no_more();  // may come at any time
    s.attend_classes();
    s.seek_better();
    s.seek_better();  // each poll may ask for it
    EXPECT_TRUE(s.seeks_better());
    s.read_news();
    EXPECT_TRUE(s.seeks_better());
    s.seek_no_more();
    EXPECT_FALSE(s.seeks_better());
    EXPECT_TRUE(s.has_classes());
}

TEST(worker_state, WORKER_STATE_2_with_the_classes_the_search_for_better_ones_ends) {
    worker_state s;
    s.attend_classes();
    s.seek_better();
    s.end_classes();
    EXPECT_FALSE(s.seeks_better());
}

// ---- a surplus worker

TEST(worker_state, WORKER_STATE_1_a_worker_drains_from_its_next_pick_on) {
    worker_state s;
    s.begin_drain();
    s.begin_drain();  // a second poll before that pick
    EXPECT_TRUE(s.drains());
    EXPECT_TRUE(s.has_news());
    s.end_drain();
    EXPECT_FALSE(s.drains());
    EXPECT_TRUE(s.has_news()) << "there may be other news";
    s.end_drain();  // find_work() calls it in any case
    EXPECT_FALSE(s.drains());
}

// ---- pinned fibers

TEST(worker_state, WORKER_STATE_1_a_turn_of_the_pinned_is_news) {
    worker_state s;
    s.give_pinned_turn();
    EXPECT_TRUE(s.has_news());
    EXPECT_TRUE(s.pinned_has_turn());
    s.read_news();
    s.end_pinned_turn(worker_state::went::yes);
    EXPECT_FALSE(s.has_news());
    EXPECT_FALSE(s.pinned_has_turn());
    EXPECT_TRUE(s.pinned_went_last());
}

TEST(worker_state, a_turn_that_nobody_used_is_over_as_well) {
    worker_state s;
    s.give_pinned_turn();
    s.read_news();
    s.end_pinned_turn(worker_state::went::no);
    EXPECT_FALSE(s.pinned_has_turn());
    EXPECT_FALSE(s.pinned_went_last());
}

TEST(worker_state, PINNED_4_after_a_pinned_fiber_the_others_go_once) {
    worker_state s;
    s.give_pinned_turn();
    s.read_news();
    s.end_pinned_turn(worker_state::went::yes);
    s.give_pinned_turn();  // by a poll before the next pick
    s.read_news();
    s.put_pinned_off();
    EXPECT_TRUE(s.has_news()) << "the next pick attends to them";
    EXPECT_TRUE(s.pinned_has_turn());
    EXPECT_FALSE(s.pinned_went_last());
}

TEST(worker_state, PINNED_4_pinned_fibers_are_not_put_off_twice_or_without_a_turn) {
    worker_state s;
    EXPECT_DEATH(s.put_pinned_off(), "PINNED-4");
    s.give_pinned_turn();
    EXPECT_DEATH(s.put_pinned_off(), "PINNED-4") << "nobody went last";
    s.end_pinned_turn(worker_state::went::yes);
    EXPECT_DEATH(s.put_pinned_off(), "PINNED-4") << "there is no turn";
    s.give_pinned_turn();
    s.put_pinned_off();
    EXPECT_DEATH(s.put_pinned_off(), "PINNED-4");
}

TEST(worker_state, any_other_news_makes_them_forget_who_went_last) {
    worker_state s;
    s.give_pinned_turn();
    s.end_pinned_turn(worker_state::went::yes);
    s.note_timer();
    s.read_news();
    s.end_pinned_turn(worker_state::went::no);  // pick() calls it with each news
    EXPECT_FALSE(s.pinned_went_last());
}

TEST(worker_state, WORKER_STATE_1_a_turn_of_the_pinned_outlives_the_end_of_classes) {
    worker_state s;
    s.attend_classes();
    s.give_pinned_turn();
    s.end_classes();
    EXPECT_TRUE(s.pinned_has_turn());
    EXPECT_TRUE(s.has_news());
}

// ---- batches, searches

TEST(worker_state, WORKER_STATE_3_a_batch_begins_and_ends) {
    worker_state s;
    for (int poll = 0; poll < 2; ++poll) {
        s.begin_taking_in();
        EXPECT_TRUE(s.takes_in());
        EXPECT_FALSE(s.has_news());
        s.end_taking_in();
        EXPECT_FALSE(s.takes_in());
    }
}

TEST(worker_state, WORKER_STATE_3_a_batch_begins_once_and_ends_once) {
    worker_state s;
    EXPECT_DEATH(s.end_taking_in(), "WORKER_STATE-3");
    s.begin_taking_in();
    EXPECT_DEATH(s.begin_taking_in(), "WORKER_STATE-3");
}

TEST(worker_state, WORKER_STATE_4_the_end_of_a_search_says_whether_there_was_one) {
    worker_state s;
    EXPECT_FALSE(s.end_search());
    s.begin_search();
    EXPECT_TRUE(s.searches());
    EXPECT_TRUE(s.end_search());
    EXPECT_FALSE(s.searches());
    EXPECT_FALSE(s.end_search());
}

TEST(worker_state, WORKER_STATE_4_a_searcher_does_not_begin_to_search) {
    worker_state s;
    s.begin_search();
    EXPECT_DEATH(s.begin_search(), "WORKER_STATE-4");
}

TEST(worker_state, a_spin_pays_once_after_work_was_found) {
    worker_state s;
    EXPECT_FALSE(s.take_spin());
    s.found_work();
    s.found_work();
    EXPECT_TRUE(s.take_spin());
    EXPECT_FALSE(s.take_spin());
}

TEST(worker_state, a_flag_leaves_the_others_alone) {
    worker_state s;
    s.attend_classes();
    s.begin_search();
    s.begin_taking_in();
    s.give_pinned_turn();
    s.found_work();
    s.end_taking_in();
    EXPECT_TRUE(s.end_search());
    EXPECT_TRUE(s.take_spin());
    EXPECT_TRUE(s.has_news());
    EXPECT_TRUE(s.has_classes());
    EXPECT_TRUE(s.pinned_has_turn());
}

}  // namespace
}  // namespace weft::detail
