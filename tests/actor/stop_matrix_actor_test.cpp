// stop_matrix_actor_test.cpp - what actors wait for, and what others wait for of them, interrupted in all ways.
#include "support/stop_matrix.hpp"

#include <weft/select.hpp>
#include <weft/supervisor.hpp>

using namespace std::chrono_literals;

namespace weft::test::matrix {
namespace {

class interruption_with_actors : public interruption {};
TEST_P(interruption_with_actors, seed_Q6_is_as_documented) { check(); }

/// Answers ints after `pause`, one after the other.
struct slow {
    std::chrono::nanoseconds pause;
    int handle(int n) const {
        this_fiber::sleep_for(pause);
        return n;
    }
};

/// A slow one that is ended with the scene, whatever it is doing.
class other_actor {
public:
    other_actor(scene& s, std::chrono::nanoseconds pause)
        : ref_(s.prepare([&] { return spawn_actor<slow>(s.helper(), {.name = "other", .mailbox = 1}, pause); })) {}
    ~other_actor() {
        const shield until_it_has_ended;
        ref_.kill();
        ref_.monitor().receive();
    }
    other_actor(const other_actor&) = delete;
    other_actor& operator=(const other_actor&) = delete;

    const actor_ref<slow>& operator*() const noexcept { return ref_; }
    const actor_ref<slow>* operator->() const noexcept { return &ref_; }

    /// It handles one message, and there is no room for a third.
    void fill(scene& s) const {
        s.prepare([&] {
            ref_.send(1);
            EXPECT_TRUE(eventually_here([&] { return ref_.size() == 0; }));
            ref_.send(2);
        });
    }

private:
    actor_ref<slow> ref_;
};

park_point everywhere(std::string name, std::function<void(scene&)> park) {
    return {.name = std::move(name), .park = std::move(park), .on_actor = outcome::throws};
}

std::vector<park_point> of_who_uses_actors() {
    return {
        everywhere("send_without_room",
                   [](scene& s) {
                       const other_actor a(s, s.delay());
                       a.fill(s);
                       s.about_to_wait();
                       a->send(3);
                   }),
        everywhere("ask",
                   [](scene& s) {
                       const other_actor a(s, s.delay());
                       s.about_to_wait();
                       EXPECT_EQ(a->ask(1), 1);
                   }),
        everywhere("ask_with_a_timeout",
                   [](scene& s) {
                       const other_actor a(s, s.delay());
                       s.about_to_wait();
                       EXPECT_EQ(a->ask(1, 2h), 1);
                   }),
        everywhere("ask_without_room",
                   [](scene& s) {
                       const other_actor a(s, s.delay());
                       a.fill(s);
                       s.about_to_wait();
                       EXPECT_EQ(a->ask(3), 3);
                   }),
        everywhere("monitor_of_an_actor",
                   [](scene& s) {
                       const other_actor a(s, 0s);
                       const auto end = a->monitor();
                       s.wait_for_signal([&] { a->stop(); }, [&] { EXPECT_TRUE(end.receive().has_value()); });
                   }),
        everywhere("select_of_a_monitor",
                   [](scene& s) {
                       const other_actor a(s, 0s);
                       const auto end = a->monitor();
                       s.wait_for_signal([&] { a->stop(); },
                                         [&] { select(on_receive(end, [](const auto& why) { EXPECT_TRUE(why.has_value()); })); });
                   }),
        everywhere("monitor_of_a_supervisor",
                   [](scene& s) {
                       const auto all = s.prepare([&] { return std::make_unique<supervisor>(s.helper()); });
                       const auto end = all->monitor();
                       s.wait_for_signal([&] { all->stop(); }, [&] { EXPECT_TRUE(end.receive().has_value()); });
                   }),
        everywhere("spawn_actor_without_a_place",
                   [](scene& s) {
                       watched_runtime full({.workers = 1, .max_fibers = 1});
                       const auto first = full.spawn([d = s.delay()] { this_fiber::sleep_for(d); });
                       s.about_to_wait();
                       static_cast<void>(spawn_actor<slow>(full, {}, 0s));
                   }),
        {.name = "try_send",
         .park = [](scene& s) { EXPECT_TRUE(other_actor(s, 0s)->try_send(1)); },
         .on_fiber = outcome::never,
         .on_thread = outcome::never,
         .on_actor = outcome::never,
         .waits = park_point::waits::no},
        {.name = "the_end_of_a_supervisor",
         .park =
             [](scene& s) {
                 std::atomic<bool> ended{false};
                 struct ends_late {
                     std::atomic<bool>* ended;
                     void handle(int) {}
                     void stopping() const {
                         this_fiber::sleep_for(8ms);
                         *ended = true;
                     }
                 };
                 auto all = s.prepare([&] { return std::make_unique<supervisor>(s.helper()); });
                 s.prepare([&] {
                     const auto a = all->start<ends_late>({}, &ended);
                     a.send(1);
                     EXPECT_TRUE(eventually_here([&] { return a.size() == 0; }));
                 });
                 s.about_to_wait();
                 all.reset();
                 EXPECT_TRUE(ended);
             },
         .on_fiber = outcome::never,
         .on_thread = outcome::never,
         .on_actor = outcome::never},
    };
}

park_point of_the_actor(std::string name, std::function<void(scene&)> park) {
    return {.name = std::move(name),
            .park = std::move(park),
            .on_fiber = outcome::untried,
            .on_thread = outcome::untried,
            .on_actor = outcome::throws};
}

/// receive() waits in the party's own mailbox for a 1.
park_point taking(std::string name, std::function<std::optional<int>()> take) {
    return of_the_actor(std::move(name),
                        [=](scene& s) { s.wait_for_signal([me = self<int>()] { me.send(1); }, [&] { EXPECT_EQ(take(), 1); }); });
}

mailbox<int> own_mailbox() { return mailbox<int>(self<int>().ref().core()); }
bool is_one(int n) { return n == 1; }

std::vector<park_point> of_actors() {
    auto trying = of_the_actor("try_receive", [](scene&) { EXPECT_FALSE(own_mailbox().try_receive()); });
    trying.waits = park_point::waits::no;
    return {
        taking("receive", [] { return own_mailbox().receive(); }),
        taking("receive_for", [] { return own_mailbox().receive_for(2h); }),
        taking("receive_if", [] { return own_mailbox().receive_if(is_one); }),
        taking("a_step_of_a_range", []() -> std::optional<int> { return *own_mailbox().begin(); }),
        taking("selective_receive", [] { return receive<int>(is_one); }),
        taking("selective_receive_with_a_timeout", [] { return receive<int>(is_one, 2h); }),
        std::move(trying),
    };
}

const auto name_of_test = [](const auto& each) { return name_of(each.param); };
INSTANTIATE_TEST_SUITE_P(users, interruption_with_actors, ::testing::ValuesIn(rows_of(of_who_uses_actors())), name_of_test);
INSTANTIATE_TEST_SUITE_P(actors, interruption_with_actors, ::testing::ValuesIn(rows_of(of_actors())), name_of_test);

}  // namespace
}  // namespace weft::test::matrix
