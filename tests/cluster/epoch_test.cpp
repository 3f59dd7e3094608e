// Partitions, losses and frozen nodes: an epoch loses nothing, or ends and says so.
#include <gmock/gmock.h>

#include "cluster/bank.hpp"
#include "cluster/node_core.hpp"

using namespace std::chrono_literals;
using weft::cluster::errc;
using weft::cluster::node;
using weft::cluster::simulated_transport;

namespace {

struct numbered {
    int n = 0;
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(numbered, n)
};
struct count {
    using reply = int;
    friend void to_json(nlohmann::json& j, const count&) { j = nlohmann::json::object(); }
    friend void from_json(const nlohmann::json&, count&) {}
};

/// Keeps the numbers it gets.
struct list {
    using remote = weft::cluster::messages<numbered, count>;

    explicit list(std::shared_ptr<std::vector<int>> in) : into(std::move(in)) {}
    void handle(numbered m) { into->push_back(m.n); }
    int handle(count) const { return static_cast<int>(into->size()); }

    std::shared_ptr<std::vector<int>> into;   // the actor may outlive the test's frame
};

}  // namespace

WEFT_WIRE(numbered, "test.numbered", 1);
WEFT_WIRE(count, "test.count", 1);

namespace {

using weft::cluster::detail::node_core;
using weft::cluster::detail::node_faults;

/// Two nodes that may have planted bugs.
struct pair_of_nodes {
    explicit pair_of_nodes(const weft::cluster::transport_faults& faults, const node_faults& planted = {})
        : words(faults), a(make("a", planted)), b(make("b", planted)) {
        const auto at = weft::cluster::detail::expose(*b, actor.ref(), weft::cluster::detail::wire_table_of<list>::entries);
        there = {a, at};
    }
    ~pair_of_nodes() {
        a->close();
        b->close();
    }
    std::shared_ptr<node_core> make(const char* name, const node_faults& planted) {
        auto made = std::make_shared<node_core>(
            weft::cluster::node_options{.name = name, .cluster = "test", .words = words.at(name), .give_up = 5s}, planted);
        made->open();
        return made;
    }

    simulated_transport words;
    std::shared_ptr<std::vector<int>> numbers = std::make_shared<std::vector<int>>();
    std::vector<int>& received = *numbers;
    std::shared_ptr<node_core> a, b;
    weft::actor_ref<list> actor = weft::spawn_actor<list>({.name = "list"}, numbers);
    weft::cluster::remote_ref<list> there;
};

std::optional<weft::exit_reason> told_within(const weft::receiver<weft::exit_reason>& end, std::chrono::nanoseconds limit) {
    weft::exit_reason why;
    if (end.receive_for(why, limit) != weft::channel_op::done) return std::nullopt;
    return why;
}

void require(bool fact, const char* what) {
    if (!fact) throw std::runtime_error(what);
}

/// Sends numbers while messages are lost, and checks what an epoch promises: what was received is in order
/// and without a gap until the monitor says that the contact was lost, once; and then contact comes again.
void loses_nothing_in_silence(const node_faults& planted) {
    pair_of_nodes t({.least_delay = 1ms, .most_delay = 20ms}, planted);
    auto end = t.there.monitor();
    t.words.set_faults({.least_delay = 1ms, .most_delay = 20ms, .lose_one_in = 30});
    int sent = 0;
    try {
        for (; sent < 40; ++sent) {
            t.there.send(numbered{sent});
            if (weft::draw(4) == 0) weft::this_fiber::sleep_for(std::chrono::milliseconds(weft::draw(800)));
        }
    } catch (const weft::cluster::error&) {  // no contact again, within this loss
    }
    t.words.set_faults({.least_delay = 1ms, .most_delay = 20ms});
    const auto why = told_within(end, 20s);
    if (!why) {
        require(t.received.size() == static_cast<std::size_t>(sent), "a message was lost, and the monitor was not told");
        for (int i = 0; i < sent; ++i) require(t.received[static_cast<std::size_t>(i)] == i, "messages are out of order");
    } else {
        require(!end.receive(), "a monitor was told twice");
        for (std::size_t i = 1; i < t.received.size(); ++i)
            require(t.received[i - 1] < t.received[i], "messages are out of order");
    }
    // Contact comes again.
    for (int tries = 0;; ++tries) {
        try {
            require(t.there.ask(count{}, 5s) == static_cast<int>(t.received.size()), "the answer is wrong");
            break;
        } catch (const weft::cluster::error&) {
            require(tries < 5, "there is no contact again");
        }
    }
}

/// Each ask ends, with the right answer or with an error, whatever is lost.
void each_ask_ends(const node_faults& planted) {
    pair_of_nodes t({.least_delay = 1ms, .most_delay = 20ms, .lose_one_in = 20}, planted);
    weft::with_scope([&](weft::scope& s) {
        for (int f = 0; f < 3; ++f)
            s.spawn([&] {
                for (int i = 0; i < 6; ++i) {
                    try {
                        require(t.there.ask(count{}, 4s) == 0, "the answer is wrong");
                    } catch (const weft::cluster::error&) {
                    } catch (const weft::timeout_error&) {}
                    if (weft::draw(3) == 0) t.words.cut("a", "b");
                    weft::this_fiber::sleep_for(std::chrono::milliseconds(weft::draw(3000)));
                    t.words.heal("a", "b");
                }
            });
    });
}

}  // namespace

TEST(epoch, loses_nothing_in_silence) {
    weft::explore(150, [] { loses_nothing_in_silence({}); });
}

TEST(epoch, a_node_that_accepts_gaps_is_found) {
    EXPECT_TRUE(weft::find_failure(300, [] { loses_nothing_in_silence({.accepts_gaps = true}); }));
}

TEST(epoch, a_node_that_compares_nothing_is_found) {
    EXPECT_TRUE(weft::find_failure(300, [] { loses_nothing_in_silence({.compares_nothing = true}); }));
}

TEST(epoch, each_ask_ends) {
    weft::explore(100, [] { each_ask_ends({}); });
}

TEST(epoch, EPOCH_1_opens_by_a_hello_only) {
    using weft::cluster::detail::epoch;
    epoch a;
    a.begin(1);
    // The answer to our hello was lost, and what came behind it was not. The hello has the room that we have there.
    EXPECT_FALSE(a.on_frame({.mine = 7, .yours = 1}, 1).accepted);
    EXPECT_FALSE(a.on_beat({.mine = 7, .yours = 1}, 1, 0).accepted);
    EXPECT_EQ(a.now(), epoch::phase::opening);
    EXPECT_TRUE(a.on_hello({.mine = 7, .yours = 1}, 2).accepted);
    EXPECT_TRUE(a.on_frame({.mine = 7, .yours = 1}, 2).has_ended);   // the first frame is lost
}

TEST(epoch, no_sender_parks_for_ever) {
    weft::explore(150, [] {
        pair_of_nodes t({.least_delay = 1ms, .most_delay = 20ms, .lose_one_in = 4});
        const auto other = weft::spawn_actor<list>({.name = "other"}, std::make_shared<std::vector<int>>());
        weft::cluster::remote_ref<list> back(
            t.b, weft::cluster::detail::expose(*t.a, other.ref(), weft::cluster::detail::wire_table_of<list>::entries));
        weft::with_scope([&](weft::scope& s) {
            for (const auto* to : {&t.there, &back})
                s.spawn([&t, to] {
                    for (int i = 0; i < 100; ++i) {
                        try {
                            to->send(numbered{i});
                        } catch (const weft::cluster::error&) {   // lost contact, which comes again
                        }
                        if (i == 50) t.words.set_faults({.least_delay = 1ms, .most_delay = 20ms});
                    }
                });
        });
    });
}

TEST(epoch, a_partition_without_a_message_is_not_noticed) {
    weft::explore(50, [] {
        pair_of_nodes t({.least_delay = 1ms, .most_delay = 20ms});
        t.there.send(numbered{1});
        EXPECT_EQ(t.there.ask(count{}, 1s), 1);
        weft::this_fiber::sleep_for(5s);  // what was sent is confirmed
        t.words.cut("a", "b");
        weft::this_fiber::sleep_for(10min);
        t.words.heal("a", "b");
        EXPECT_EQ(t.there.ask(count{}, 1s), 1);
        EXPECT_EQ(t.a->stats().epochs_lost, 0u);
    });
}

TEST(epoch, a_partition_that_lasts_is_told_to_both) {
    weft::explore(50, [] {
        pair_of_nodes t({.least_delay = 1ms, .most_delay = 20ms});
        auto end = t.there.monitor();
        weft::this_fiber::sleep_for(1s);  // b knows of it
        t.words.cut("a", "b");
        const auto why = told_within(end, 10s);
        ASSERT_TRUE(why);
        EXPECT_THAT(why->what(), testing::HasSubstr("nothing was heard"));
        weft::this_fiber::sleep_for(10s);
        EXPECT_EQ(t.b->stats().nodes, 0u);  // it waits for a beat, since its actor is monitored
        t.words.heal("a", "b");
        EXPECT_EQ(t.there.ask(count{}, 5s), 0);
    });
}

TEST(epoch, a_frozen_node_that_thaws_in_time_is_not_lost) {
    weft::explore(50, [] {
        pair_of_nodes t({.least_delay = 1ms, .most_delay = 20ms});
        auto end = t.there.monitor();
        t.there.send(numbered{1});
        weft::this_fiber::sleep_for(2s);
        t.words.freeze("b");
        weft::this_fiber::sleep_for(3s);
        EXPECT_EQ(t.a->stats().suspected, 1u);
        t.words.thaw("b");
        EXPECT_EQ(t.there.ask(count{}, 5s), 1);
        EXPECT_EQ(t.a->stats().epochs_lost, 0u);
        EXPECT_EQ(t.a->stats().suspected, 0u);
    });
}

TEST(epoch, ends_with_its_node) {
    weft::explore(50, [] {
        pair_of_nodes t({.least_delay = 1ms, .most_delay = 20ms});
        auto end = t.there.monitor();
        t.words.kill("b");
        const auto why = told_within(end, 10s);
        ASSERT_TRUE(why);
        EXPECT_TRUE(why->abnormal());
        try {
            static_cast<void>(t.there.ask(count{}, 60s));
            ADD_FAILURE() << "a node that was killed has answered";
        } catch (const weft::cluster::error& e) {
            EXPECT_EQ(e.code(), errc::unreachable);
            EXPECT_FALSE(e.maybe_handled());
        }
    });
}
