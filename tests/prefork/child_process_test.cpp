// child_process_test.cpp - processes as children of supervisors: how each end is judged, how they are stopped, what they are given.
#include <weft/child_process.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>
#include <csignal>
#include <mutex>

#include <weft/io/pipe.hpp>
#include <weft/io/stream.hpp>

#include "support/eventually.hpp"
#include "support/no_leaks.hpp"

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

namespace weft::test {
namespace {

using strings = std::vector<std::string>;

strings shell(const std::string& script) { return {"sh", "-c", script}; }

/// What children and their supervisor have said, in order.
class notes {
public:
    void add(std::string line) {
        const std::lock_guard guard(lock_);
        lines_.push_back(std::move(line));
    }
    strings all() const {
        const std::lock_guard guard(lock_);
        return lines_;
    }
    bool eventually_has(const std::string& line) const {
        return eventually_here([&] {
            const auto now = all();
            return std::ranges::find(now, line) != now.end();
        });
    }

private:
    mutable std::mutex lock_;
    strings lines_;
};

class child_processes : public on_workers {
protected:
    watched_runtime rt{GetParam()};
    notes ends, lines;

    supervisor_options options(unsigned max_restarts = 3) {
        return {.max_restarts = max_restarts, .within = 60s, .on_end = [this](const child_report& r) {
                    ends.add(std::string(r.child) + " " + r.reason.what());
                }};
    }
    std::function<void(const process_line&)> keep_lines() {
        return
            [this](const process_line& l) { lines.add(std::string(l.child) + (l.is_error ? "! " : ": ") + std::string(l.text)); };
    }
    /// How a temporary child ends that runs the script.
    std::string end_of(const std::string& script) {
        supervisor sup(options());
        start_process(sup, {.name = "it", .keep = child_kind::temporary}, {.words = shell(script)});
        EXPECT_TRUE(eventually_here([&] { return sup.size() == 0; }));
        return ends.all().empty() ? "nothing" : ends.all().back();
    }
};
WEFT_ON_1_2_4_8_WORKERS(child_processes);

TEST_P(child_processes, have_reasons_for_their_ends) {
    rt.run([&] {
        EXPECT_EQ(end_of("exit 0"), "it normal");
        EXPECT_EQ(end_of("exit 3"), "it failed: exit code 3");
        EXPECT_EQ(end_of("kill -9 $$"), "it killed: signal 9 (Killed)");
        EXPECT_EQ(end_of("kill $$"), "it killed: signal 15 (Terminated)") << "nobody has asked for it";
    });
}

TEST_P(child_processes, that_cannot_be_started_have_failed) {
    rt.run([&] {
        supervisor sup(options());
        start_process(sup, {.name = "none", .keep = child_kind::temporary}, {.words = {"/there/is/no/such/program"}});
        ASSERT_TRUE(eventually_here([&] { return sup.size() == 0; }));
        EXPECT_THAT(ends.all(), ElementsAre(HasSubstr("none failed: weft: cannot start /there/is/no/such/program")));
    });
}

TEST_P(child_processes, are_restarted_and_in_a_crash_loop_given_up) {
    rt.run([&] {
        supervisor sup(options(2));
        auto end = sup.monitor();
        auto p = start_process(sup, {.name = "crasher"}, {.words = shell("echo up; exit 7"), .on_line = keep_lines()});
        const auto why = end.receive();
        ASSERT_TRUE(why);
        EXPECT_EQ(why->kind, exit_kind::failed);
        EXPECT_THAT(why->what(),
                    HasSubstr("gives up: more than 2 restarts in 60000 ms; at last child \"crasher\" failed: exit code 7"));
        EXPECT_THAT(lines.all(), ElementsAre("crasher: up", "crasher: up", "crasher: up"));
        EXPECT_TRUE(p.wait_until_ready()) << "it was, before it ended for good";
        EXPECT_FALSE(p.stop());
    });
}

TEST_P(child_processes, killed_from_outside_are_replaced_by_another_process) {
    rt.run([&] {
        supervisor sup(options());
        auto p = start_process(sup, {.name = "server"}, {.words = {"sleep", "1000"}});
        ASSERT_TRUE(p.wait_until_ready());
        const int first = p.id();
        ASSERT_EQ(::kill(first, SIGKILL), 0);
        ASSERT_TRUE(eventually_here([&] { return p.id() != 0 && p.id() != first; }));
        EXPECT_THAT(ends.all(), ElementsAre("server killed: signal 9 (Killed)"));
        EXPECT_EQ(sup.restarts(), 1U);
    });
}

TEST_P(child_processes, are_stopped_by_sigterm_the_youngest_first) {
    rt.run([&] {
        {
            supervisor sup(options());
            const std::string script = "trap 'echo end; exit 0' TERM; echo ready; while :; do sleep 0.01; done";
            for (const char* const name : {"old", "young"})
                start_process(sup, {.name = name, .shutdown = 60s}, {.words = shell(script), .on_line = keep_lines()});
            ASSERT_TRUE(lines.eventually_has("old: ready") && lines.eventually_has("young: ready"));
        }
        const auto said = lines.all();
        ASSERT_EQ(said.size(), 4U);
        EXPECT_EQ(said[2], "young: end");
        EXPECT_EQ(said[3], "old: end");
        EXPECT_THAT(ends.all(), ElementsAre()) << "the supervisor has brought about all ends";
    });
}

TEST_P(child_processes, that_ignore_sigterm_are_killed_after_their_time) {
    rt.run([&] {
        supervisor sup(options());
        auto p =
            start_process(sup, {.name = "deaf", .keep = child_kind::temporary, .shutdown = 50ms},
                          {.words = shell("trap '' TERM; echo ready; while :; do sleep 0.01; done"), .on_line = keep_lines()});
        ASSERT_TRUE(lines.eventually_has("deaf: ready"));
        p.end_life();
        ASSERT_TRUE(ends.eventually_has("deaf killed: signal 9 (Killed)"));
    });
}

TEST_P(child_processes, end_in_order_with_the_runtime) {
    rt.run([&] {
        spawn_detached([&] {
            supervisor sup(options());
            start_process(sup, {.name = "sleeper", .shutdown = 60s},
                          {.words = shell("trap 'echo end; exit 0' TERM; echo ready; while :; do sleep 0.01; done"),
                           .on_line = keep_lines()});
            this_fiber::sleep_for(1h);
        });
        ASSERT_TRUE(lines.eventually_has("sleeper: ready"));
    });
    EXPECT_TRUE(rt.shutdown(60s));
    EXPECT_THAT(lines.all(), ElementsAre("sleeper: ready", "sleeper: end"));
}

TEST_P(child_processes, are_ready_when_they_say_so) {
    rt.run([&] {
        supervisor sup(options());
        io::pipe go;
        auto p = start_process(
            sup, {.name = "slow"},
            {.words = shell("test $WEFT_LISTEN = go=3 && test $WEFT_READY = 4 && read line <&3 && echo >&4; exec sleep 1000"),
             .descriptors = {{"go", go.reader.native_handle()}},
             .ready_within = 60s});
        EXPECT_FALSE(p.is_ready());
        auto ready = spawn([&] { return p.wait_until_ready(); });
        EXPECT_FALSE(ready.done());
        // The shell reads it byte by byte, and the pipe was made non-blocking here; it waits until there is something.
        ::fcntl(go.reader.native_handle(), F_SETFL, 0);
        go.writer.write_all("go\n");
        EXPECT_TRUE(ready.join());
        EXPECT_TRUE(p.is_ready());
    });
}

TEST_P(child_processes, that_end_at_once_after_their_word_have_been_ready) {
    rt.run([&] {
        supervisor sup(options());
        auto p = start_process(sup, {.name = "quick", .keep = child_kind::temporary},
                               {.words = shell("echo >&3"), .ready_within = 60s});
        EXPECT_TRUE(p.wait_until_ready());
        EXPECT_TRUE(eventually_here([&] { return sup.size() == 0; }));
        EXPECT_TRUE(p.wait_until_ready());
        EXPECT_TRUE(p.was_ready());
        EXPECT_FALSE(p.is_ready());
    });
}

TEST_P(child_processes, that_were_of_no_use_pause_before_they_live_again) {
    rt.run([&] {
        supervisor sup(options(100));
        const auto begin = std::chrono::steady_clock::now();
        auto p = start_process(sup, {.name = "it"}, {.words = shell("exit 1"), .pause = 20ms});
        ASSERT_TRUE(eventually_here([&] { return ends.all().size() >= 4; }));
        EXPECT_GE(std::chrono::steady_clock::now() - begin, 140ms) << "20, 40 and 80 ms";
        EXPECT_TRUE(p.stop()) << "a pause does not hold up the stop";
    });
}

TEST_P(child_processes, have_all_their_lines_passed_on_however_long_that_takes) {
    rt.run([&] {
        supervisor sup(options());
        start_process(sup, {.name = "it", .keep = child_kind::temporary},
                      {.words = shell("for i in 1 2 3 4 5; do echo $i; done"), .on_line = [&](const process_line& l) {
                           this_fiber::sleep_for(300ms);
                           lines.add(std::string(l.text));
                       }});
        ASSERT_TRUE(eventually_here([&] { return sup.size() == 0; }));
        EXPECT_THAT(lines.all(), ElementsAre("1", "2", "3", "4", "5"));
    });
}

TEST_P(child_processes, have_long_lines_passed_on_in_pieces) {
    rt.run([&] {
        supervisor sup(options());
        start_process(
            sup, {.name = "it", .keep = child_kind::temporary},
            {.words = shell("head -c 65536 /dev/zero | tr '\\0' a; echo; echo b; head -c 65537 /dev/zero | tr '\\0' c; echo"),
             .on_line = [&](const process_line& l) { lines.add(std::string(l.text)); }});
        ASSERT_TRUE(eventually_here([&] { return sup.size() == 0; }));
        EXPECT_THAT(lines.all(), ElementsAre(std::string(65536, 'a'), "b", std::string(65536, 'c'), "c"));
    });
}

TEST_P(child_processes, that_never_get_ready_have_failed) {
    rt.run([&] {
        supervisor sup(options());
        auto p = start_process(sup, {.name = "stuck", .keep = child_kind::temporary},
                               {.words = {"sleep", "1000"}, .ready_within = 50ms});
        ASSERT_TRUE(ends.eventually_has("stuck failed: was not ready within 50 ms"));
        EXPECT_FALSE(p.wait_until_ready()) << "it has ended for good";
    });
}

TEST_P(child_processes, have_their_output_collected_line_by_line) {
    rt.run([&] {
        supervisor sup(options());
        start_process(sup, {.name = "talker", .keep = child_kind::temporary},
                      {.words = shell("printf 'one\\ntw'; sleep 0.02; printf 'o\\n\\nlast'; printf 'bad\\n' >&2"),
                       .on_line = keep_lines()});
        ASSERT_TRUE(eventually_here([&] { return sup.size() == 0; }));
        auto out = lines.all();
        EXPECT_EQ(std::erase(out, "talker! bad"), 1U);
        EXPECT_THAT(out, ElementsAre("talker: one", "talker: two", "talker: ", "talker: last"));
    });
}

TEST_P(child_processes, whose_own_children_hold_the_output_open_end_all_the_same) {
    rt.run([&] {
        supervisor sup(options());
        start_process(sup, {.name = "parent", .keep = child_kind::temporary, .shutdown = 1s},
                      {.words = shell("sleep 30 & echo started"), .group = io::process_group::inherit, .on_line = keep_lines()});
        ASSERT_TRUE(ends.eventually_has("parent normal"));
        EXPECT_THAT(lines.all(), ElementsAre("parent: started"));
    });
}

TEST_P(child_processes, get_variables_and_descriptors_in_order_whatever_their_numbers) {
    rt.run([&] {
        supervisor sup(options());
        io::pipe a, b;
        ::fcntl(a.writer.native_handle(), F_SETFL, 0);
        ::fcntl(b.writer.native_handle(), F_SETFL, 0);
        // 3, 4, 5: likely their numbers here, too, in another order.
        start_process(sup, {.name = "it", .keep = child_kind::temporary},
                      {.words = shell("echo $WEFT_LISTEN $GREETING; echo to-b >&3; echo to-a >&4"),
                       .descriptors = {{"b", b.writer.native_handle()}, {"a", a.writer.native_handle()}},
                       .environment = {"GREETING=hello"},
                       .on_line = keep_lines()});
        std::array<std::byte, 16> text;
        EXPECT_EQ(a.reader.read_some(text), 5U);
        EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(text.data()), 4), "to-a");
        EXPECT_EQ(b.reader.read_some(text), 5U);
        EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(text.data()), 4), "to-b");
        EXPECT_TRUE(lines.eventually_has("it: b=3 a=4 hello"));
    });
}

TEST_P(child_processes, with_wrong_specs_are_refused) {
    rt.run([&] {
        supervisor sup(options());
        EXPECT_THROW(start_process(sup, {}, {.words = {"true"}, .descriptors = {{"a b", 0}}}), std::invalid_argument);
        EXPECT_THROW(start_process(sup, {}, {.words = {"true"}, .descriptors = {{"a", -1}}}), std::invalid_argument);
        EXPECT_THROW(start_process(sup, {}, {.words = {"true"}, .ready_within = -1s}), std::invalid_argument);
        EXPECT_EQ(sup.size(), 0U);
        sup.stop();
        auto end = sup.monitor();
        end.receive();
        EXPECT_THROW(start_process(sup, {}, {.words = {"true"}}), actor_gone);
    });
}

TEST_P(child_processes, stand_beside_actors_in_one_supervisor) {
    struct counter {
        struct value {
            using reply = int;
        };
        int handle(value) { return 1; }
    };
    rt.run([&] {
        auto all = options();
        all.strategy = restart::one_for_all;
        supervisor sup(all);
        auto actor = sup.start<counter>({.name = "counter"});
        auto p = start_process(sup, {.name = "server"}, {.words = {"sleep", "1000"}});
        ASSERT_TRUE(p.wait_until_ready());
        const int first = p.id();
        actor.kill();
        ASSERT_TRUE(eventually_here([&] { return p.id() != 0 && p.id() != first; })) << "it was restarted with the actor";
        EXPECT_EQ(actor.ask(counter::value{}), 1);
    });
}

// In a process of its own: the environment is changed.
TEST(process_gifts_forks, are_read_from_the_environment_once) {
    ::unsetenv("WEFT_LISTEN");
    ::unsetenv("WEFT_READY");
    EXPECT_EQ(process_gifts::take().descriptor("web"), -1);
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    ::setenv("WEFT_LISTEN", ("web=" + std::to_string(ends[0]) + " admin=0").c_str(), 1);
    ::setenv("WEFT_READY", std::to_string(ends[1]).c_str(), 1);
    auto gifts = process_gifts::take();
    EXPECT_EQ(gifts.descriptor("web"), ends[0]);
    EXPECT_EQ(gifts.descriptor("admin"), 0);
    EXPECT_EQ(gifts.descriptor("we"), -1);
    EXPECT_EQ(std::getenv("WEFT_LISTEN"), nullptr);
    EXPECT_EQ(std::getenv("WEFT_READY"), nullptr);
    EXPECT_EQ(::fcntl(ends[0], F_GETFD), FD_CLOEXEC);
    gifts.say_ready();
    gifts.say_ready();
    std::array<char, 4> word{};
    EXPECT_EQ(::read(ends[0], word.data(), word.size()), 1) << "one byte";
    EXPECT_EQ(::read(ends[0], word.data(), word.size()), 0) << "and closed";
    for (const char* const wrong : {"web", "=3", "web=x", "web=9999", "web="}) {
        ::setenv("WEFT_LISTEN", wrong, 1);
        EXPECT_THROW((void)process_gifts::take(), std::invalid_argument) << wrong;
    }
    ::close(ends[0]);
}

}  // namespace
}  // namespace weft::test
