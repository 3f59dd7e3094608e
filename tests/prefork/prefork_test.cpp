// prefork_test.cpp - masters and workers, as processes: deaths of each, crash loops, reloads under load, the end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>

#include <unistd.h>

#include <weft/prefork.hpp>

#include "prefork/support/listening_socket.hpp"
#include "prefork/support/load.hpp"
#include "prefork/support/master_process.hpp"
#include "support/no_leaks.hpp"
#include "support/scale.hpp"

using namespace std::chrono_literals;
using testing::HasSubstr;

namespace weft::test {
namespace {

class prefork_forks : public no_leaks {
protected:
    watched_runtime rt{2};
};

TEST_F(prefork_forks, seed_N10_workers_share_a_port_and_end_with_their_master) {
    rt.run([] {
        master_process m({"serve", "3"});
        const auto at = m.port();
        ASSERT_NE(at.port, 0) << m.all();
        EXPECT_EQ(children_of(m.id()).size(), 3U);
        EXPECT_TRUE(eventually_here([&, seen = std::set<int>()]() mutable {
            seen.insert(line_client(at).ask("x")->process);
            return seen.size() == 3;
        })) << "each of them accepts";
        m.signal(SIGTERM);
        EXPECT_EQ(m.exit_code(), 0);
        m.await_silence();
        for (const char* const line :
             {"worker 1.1: worker 1 is done", "worker 1.2: worker 2 is done", "worker 1.3: worker 3 is done"})
            EXPECT_THAT(m.all(), HasSubstr(line)) << "their output is collected to the end";
    });
}

TEST_F(prefork_forks, a_request_that_has_begun_is_answered_before_the_end) {
    rt.run([] {
        master_process m({"serve", "1"});
        line_client c(m.port());
        EXPECT_FALSE(c.ask("x")->last);
        c.stream().write_all("sleep\n");
        this_fiber::sleep_for(10ms);
        m.signal(SIGINT);
        std::error_code error;
        const auto text = c.next(error);
        EXPECT_THAT(text, HasSubstr("sleep "));
        m.line_with("a signal");
        if (text.find("close") == std::string::npos) {
            EXPECT_TRUE(c.ask("again")->last);  // the signal came late
        }
        EXPECT_EQ(m.exit_code(), 0);
    });
}

TEST_F(prefork_forks, seed_D18_one_is_killed_and_the_others_finish) {
    rt.run([] {
        master_process m({"serve", "4"});
        const auto at = m.port();
        std::vector<line_client> clients;
        std::map<int, int> of_process;
        for (int i = 0; i < scaled(400); ++i) ++of_process[clients.emplace_back(at).ask("x")->process];
        const auto before = children_of(m.id());
        ASSERT_EQ(before.size(), 4U);
        // The kernel gives connections to whoever asks first, so one may have none.
        const int victim = of_process.begin()->first;
        std::atomic<int> finished = 0, lost = 0;
        with_scope([&](scope& s) {
            for (auto& c : clients)
                s.spawn([&] {
                    // Many more of them than are answered before the kill.
                    for (int i = 0; i < 20; ++i)
                        if (!c.ask("y" + std::to_string(i))) return void(++lost);
                    ++finished;
                });
            ASSERT_EQ(::kill(victim, SIGKILL), 0);
        });
        EXPECT_GE(finished, static_cast<int>(clients.size()) - of_process[victim]) << "all of the others";
        EXPECT_LE(lost, of_process[victim]);
        EXPECT_THAT(m.line_with("killed: signal 9"), HasSubstr("it is started again"));
        ASSERT_TRUE(eventually_here([&] { return children_of(m.id()).size() == 4; }));
        auto after = children_of(m.id());
        EXPECT_FALSE(after.contains(victim));
        EXPECT_EQ(std::ranges::count_if(after, [&](int p) { return before.contains(p); }), 3) << "the others were left alone";
        m.signal(SIGTERM);
        clients.clear();
        EXPECT_EQ(m.exit_code(), 0);
    });
}

TEST_F(prefork_forks, a_crash_loop_ends_at_the_limit_with_a_message) {
    rt.run([] {
        const auto begin = std::chrono::steady_clock::now();
        master_process m({"crash", "2"});
        EXPECT_EQ(m.exit_code(), 1);
        EXPECT_GE(std::chrono::steady_clock::now() - begin, 700ms) << "pauses of 100, 200 and 400 ms";
        m.await_silence();
        EXPECT_THAT(m.all(), HasSubstr("generation 1 is given up: more than 3 restarts of a worker in 60000 ms"));
        EXPECT_THAT(m.all(), HasSubstr("failed: exit code 7"));
    });
}

TEST_F(prefork_forks, ends_of_workers_that_have_served_do_not_count) {
    rt.run([] {
        master_process m({"serve", "1"});
        const auto at = m.port();
        std::set<int> seen;
        for (int i = 0; i < 6; ++i) {
            const auto got = line_client(at).ask("x");
            ASSERT_TRUE(got) << m.all();
            EXPECT_TRUE(seen.insert(got->process).second);
            ::kill(got->process, SIGTERM);
            ASSERT_TRUE(eventually_here([&] { return !is_alive(got->process); }));
        }
        m.signal(SIGTERM);
        EXPECT_EQ(m.exit_code(), 0);
    });
}

TEST_F(prefork_forks, a_generation_is_not_given_up_while_a_worker_serves) {
    rt.run([] {
        master_process m({"serve", "2"});
        const auto at = m.port();
        line_client kept(at);
        const auto first = kept.ask("x");
        ASSERT_TRUE(first);
        for (int i = 0; i < 5; ++i) {  // more than max_restarts
            ASSERT_TRUE(eventually_here([&] { return children_of(m.id()).size() == 2; })) << m.all();
            for (const int p : children_of(m.id()))
                if (p != first->process) ::kill(p, SIGKILL);
            ASSERT_NE(m.line_with("killed: signal 9", static_cast<std::size_t>(i + 1)), "") << m.all();
        }
        EXPECT_TRUE(kept.ask("y"));
        m.signal(SIGTERM);
        EXPECT_EQ(m.exit_code(), 0);
    });
}

TEST_F(prefork_forks, workers_that_throw_have_failed) {
    rt.run([] {
        master_process m({"throw", "1"});
        EXPECT_EQ(m.exit_code(), 1);
        m.await_silence();
        EXPECT_THAT(m.all(), HasSubstr("worker 1.1: weft: prefork: the worker has failed: thrown by the worker"));
    });
}

TEST_F(prefork_forks, workers_that_never_get_ready_have_failed) {
    rt.run([] {
        master_process m({"stuck", "1"});
        EXPECT_EQ(m.exit_code(), 1);
        m.await_silence();
        EXPECT_THAT(m.all(), HasSubstr("worker 1.1 failed: was not ready within 100 ms"));
        EXPECT_EQ(m.all().find("port"), std::string::npos);
    });
}

TEST_F(prefork_forks, workers_that_do_not_ask_for_the_stop_are_stopped) {
    rt.run([] {
        master_process m({"plain", "2"});
        line_client c(m.port());
        EXPECT_TRUE(c.ask("x"));
        m.signal(SIGTERM);
        EXPECT_EQ(m.exit_code(), 0);
        EXPECT_FALSE(c.ask("y"));
    });
}

TEST_F(prefork_forks, a_second_signal_ends_them_at_once) {
    rt.run([] {
        master_process m({"serve", "2"});
        line_client silent(m.port());
        ASSERT_TRUE(silent.ask("x"));
        m.signal(SIGTERM);
        ASSERT_THAT(m.line_with("a signal"), HasSubstr("the workers are ended"));
        m.signal(SIGTERM);
        ASSERT_NE(m.line_with("a second signal"), "");
        EXPECT_EQ(m.exit_code(), 0);
        EXPECT_FALSE(silent.ask("y"));
    });
}

TEST_F(prefork_forks, a_signal_to_each_process_of_the_service_is_as_one_to_the_master) {
    rt.run([] {
        master_process m({"serve", "2"});
        line_client c(m.port());
        ASSERT_TRUE(c.ask("x"));
        m.signal_group(SIGTERM);
        ASSERT_NE(m.line_with("a signal"), "");
        const auto next = c.ask("y");
        ASSERT_TRUE(next) << "it was not cut off by the master's SIGTERM after its own";
        EXPECT_EQ(m.exit_code(), 0);
    });
}

TEST_F(prefork_forks, after_the_death_of_the_master_they_finish_and_end) {
    rt.run([] {
        master_process m({"serve", "2", "drain"});
        line_client c(m.port());
        const auto first = c.ask("x");
        ASSERT_TRUE(first);
        const auto workers = children_of(m.id());
        ASSERT_EQ(workers.size(), 2U);
        m.signal(SIGKILL);
        EXPECT_EQ(m.exit_code(), 128 + SIGKILL);
        EXPECT_TRUE(eventually_here([&] {
            const auto next = c.ask("y");
            return !next || next->last;
        })) << "what it keeps open is answered, with the word that it was the last";
        EXPECT_TRUE(eventually_here([&] { return std::ranges::none_of(workers, is_alive); }));
    });
}

TEST_F(prefork_forks, after_the_death_of_the_master_they_end_at_once_or_go_on_if_told_to) {
    rt.run([] {
        master_process ends({"serve", "2", "end"}), goes_on({"serve", "2", "go_on"});
        line_client cut(ends.port()), kept(goes_on.port());
        ASSERT_TRUE(cut.ask("x") && kept.ask("x"));
        const auto of_ends = children_of(ends.id());
        const struct orphans_end {
            std::set<int> all;
            ~orphans_end() {  // nobody else ends them
                for (const int p : all) ::kill(p, SIGKILL);
            }
        } of_goes_on{children_of(goes_on.id())};
        ASSERT_EQ(of_goes_on.all.size(), 2U);
        ends.signal(SIGKILL);
        goes_on.signal(SIGKILL);
        ends.exit_code();
        goes_on.exit_code();
        EXPECT_TRUE(eventually_here([&] { return std::ranges::none_of(of_ends, is_alive); }));
        EXPECT_FALSE(cut.ask("y"));
        const auto on = kept.ask("y");
        ASSERT_TRUE(on);
        EXPECT_FALSE(on->last);
        ::kill(on->process, SIGTERM);
        EXPECT_TRUE(kept.ask("z"));
    });
}

TEST_F(prefork_forks, a_reload_under_load_refuses_nothing_and_loses_nothing) {
    rt.run([] {
        master_process m({"serve", "2"});
        const auto at = m.port();
        load l;
        with_scope([&](scope& s) {
            for (int i = 0; i < 8; ++i) s.spawn([&, i] { l.run(at, i); });
            for (unsigned g = 2; g <= 4; ++g) {
                m.signal(SIGHUP);
                ASSERT_NE(m.line_with("generation " + std::to_string(g) + " is ready"), "") << m.all();
                ASSERT_NE(m.line_with("generation " + std::to_string(g - 1) + " has ended"), "") << m.all();
            }
            const int so_far = l.answers;
            EXPECT_TRUE(eventually_here([&] { return l.answers > so_far + 100; }));
            l.over = true;
        });
        EXPECT_EQ(l.refused, 0);
        EXPECT_EQ(l.wrong, 0);
        EXPECT_EQ(l.cut_off, 0);
        EXPECT_TRUE(l.generations.contains(1) && l.generations.contains(4));
        EXPECT_EQ(children_of(m.id()).size(), 2U);
        m.signal(SIGTERM);
        EXPECT_EQ(m.exit_code(), 0);
    });
}

TEST_F(prefork_forks, a_generation_that_never_gets_ready_leaves_the_old_one_in_place) {
    const auto place = std::filesystem::temp_directory_path() / ("weft-prefork-" + std::to_string(::getpid()));
    const auto behave = [&](const char* how) { std::ofstream(place) << how; };
    behave("serve");
    rt.run([&] {
        master_process m({place.string(), "2"});
        const auto at = m.port();
        ASSERT_NE(at.port, 0) << m.all();
        line_client kept(at);
        const auto first = kept.ask("x");
        ASSERT_TRUE(first);
        const auto before = children_of(m.id());
        for (unsigned g = 2; g <= 3; ++g) {
            behave("crash");
            m.signal(SIGHUP);
            const auto number = std::to_string(g);
            EXPECT_THAT(m.line_with("generation " + number + " is given up"),
                        HasSubstr("since it has not got ready; generation 1 goes on"));
            ASSERT_NE(m.line_with("generation " + number + " has ended"), "");
            EXPECT_EQ(children_of(m.id()), before);
            const auto again = kept.ask("y");
            ASSERT_TRUE(again);
            EXPECT_EQ(again->process, first->process);
            EXPECT_FALSE(again->last);
        }
        behave("serve");
        m.signal(SIGHUP);
        EXPECT_NE(m.line_with("generation 4 is ready"), "");
        EXPECT_TRUE(kept.ask("z"));
        m.signal(SIGTERM);
        EXPECT_EQ(m.exit_code(), 0);
    });
    std::filesystem::remove(place);
}

TEST_F(prefork_forks, a_reload_replaces_a_generation_that_fails_meanwhile_and_another_may_follow) {
    const auto place = std::filesystem::temp_directory_path() / ("weft-replace-" + std::to_string(::getpid()));
    const auto behave = [&](const char* how) {
        std::ofstream(place.string() + ".new") << how;
        std::filesystem::rename(place.string() + ".new", place);
    };
    behave("serve");
    rt.run([&] {
        master_process m({place.string(), "1"});
        const auto at = m.port();
        const auto first = line_client(at).ask("x");
        ASSERT_TRUE(first) << m.all();
        behave("replace");
        m.signal(SIGHUP);
        ASSERT_NE(m.line_with("generation 2 is started"), "") << m.all();
        m.signal(SIGHUP);
        EXPECT_THAT(m.line_with("a reload was asked for"), HasSubstr("generation 2 is not ready yet; it follows"));
        ::kill(first->process, SIGKILL);
        EXPECT_THAT(m.line_with("generation 1 is given up"), HasSubstr("generation 2 may take its place")) << m.all();
        behave("serve");
        EXPECT_NE(m.line_with("generation 3 is ready"), "") << m.all();
        const auto now = line_client(at).ask("y");
        ASSERT_TRUE(now);
        EXPECT_GE(now->generation, 2U);
        m.signal(SIGTERM);
        EXPECT_EQ(m.exit_code(), 0);
    });
    std::filesystem::remove(place);
}

TEST_F(prefork_forks, while_the_master_stops_new_clients_are_refused) {
    rt.run([] {
        master_process m({"serve", "2"});
        const auto at = m.port();
        line_client kept(at);
        ASSERT_TRUE(kept.ask("x"));
        m.signal(SIGTERM);
        EXPECT_TRUE(eventually_here([&] {
            try {
                line_client late(at);
                return false;
            } catch (const std::system_error&) {
                return true;
            }
        }));
        EXPECT_TRUE(is_alive(m.id())) << "it waits for the client that was there before";
        const auto last = kept.ask("y");
        ASSERT_TRUE(last);
        EXPECT_TRUE(last->last);
        EXPECT_EQ(m.exit_code(), 0);
        EXPECT_EQ(m.all().find("failed"), std::string::npos) << m.all();
    });
}

TEST_F(prefork_forks, a_master_whose_output_nobody_reads_ends_all_the_same) {
    rt.run([] {
        io::process p({WEFT_PREFORK_SUBJECT, "noisy", "1"},
                      {.out = io::redirect::pipe, .err = io::redirect::pipe, .group = io::process_group::own});
        this_fiber::sleep_for(500ms);  // much more than the pipe holds
        p.signal(SIGTERM);
        std::optional<io::exit_status> end;
        EXPECT_TRUE(eventually_here([&] { return (end = p.try_wait()).has_value(); }));
        EXPECT_TRUE(end && end->success());
    });
}

TEST_F(prefork_forks, orphans_that_do_not_end_are_ended) {
    rt.run([] {
        master_process m({"stubborn", "1", "end"});
        ASSERT_NE(m.port().port, 0) << m.all();
        const auto workers = children_of(m.id());
        ASSERT_EQ(workers.size(), 1U);
        m.signal(SIGKILL);
        m.exit_code();
        EXPECT_TRUE(eventually_here([&] { return std::ranges::none_of(workers, is_alive); })) << "after 6 s";
    });
}

TEST_F(prefork_forks, a_reload_starts_the_program_that_the_path_means_by_then) {
    namespace fs = std::filesystem;
    const auto place = fs::temp_directory_path() / ("weft-deploy-" + std::to_string(::getpid()));
    fs::create_directories(place / "first");
    fs::create_directories(place / "second");
    fs::copy_file(WEFT_PREFORK_SUBJECT, place / "first" / "app");
    std::ofstream(place / "second" / "app") << "#!/bin/sh\nexit 9\n";
    fs::permissions(place / "second" / "app", fs::perms::owner_all);
    const auto link_to = [&](const char* target) {
        fs::create_symlink(target, place / "new");
        fs::rename(place / "new", place / "current");
    };
    link_to("first");
    rt.run([&] {
        master_process m({"serve", "1"}, place / "current" / "app");
        ASSERT_NE(m.port().port, 0) << m.all();
        link_to("second");
        m.signal(SIGHUP);
        EXPECT_NE(m.line_with("worker 2.1 failed: exit code 9"), "") << m.all();
        m.signal(SIGTERM);
        EXPECT_EQ(m.exit_code(), 0);
        // A program that is moved away, for another to take its name.
        link_to("first");
        master_process moved({"serve", "1"}, place / "first" / "app");
        ASSERT_NE(moved.port().port, 0) << moved.all();
        fs::rename(place / "first" / "app", place / "first" / "app.old");
        fs::copy_file(place / "second" / "app", place / "first" / "app");
        moved.signal(SIGHUP);
        EXPECT_NE(moved.line_with("worker 2.1 failed: exit code 9"), "") << moved.all();
        moved.signal(SIGTERM);
        EXPECT_EQ(moved.exit_code(), 0);
    });
    fs::remove_all(place);
}

TEST_F(prefork_forks, lines_that_nobody_reads_do_not_end_the_master) {
    rt.run([] {
        master_process m({"serve", "1"}, WEFT_PREFORK_SUBJECT);
        const auto at = m.port();
        m.stop_reading();
        for (int i = 0; i < 3; ++i) {
            const auto got = line_client(at).ask("x");
            ASSERT_TRUE(got);
            ::kill(got->process, SIGKILL);  // the master has something to say
            ASSERT_TRUE(eventually_here([&] { return !is_alive(got->process); }));
        }
        EXPECT_TRUE(line_client(at).ask("y"));
        m.signal(SIGTERM);
        EXPECT_EQ(m.exit_code(), 0);
    });
}

TEST_F(prefork_forks, workers_know_an_end_of_the_program_from_one_of_their_own) {
    rt.run([] {
        master_process m({"serve", "1"});
        line_client silent(m.port());
        ASSERT_TRUE(silent.ask("x"));
        m.signal(SIGHUP);
        ASSERT_NE(m.line_with("worker 1.1: this worker ends"), "") << m.all();
        ASSERT_NE(m.line_with("generation 2 is ready"), "") << m.all();
        m.signal(SIGTERM);
        EXPECT_NE(m.line_with("worker 2.1: the program ends"), "") << m.all();
        EXPECT_NE(m.line_with("worker 1.1: the program ends"), "") << "it is told again, since it waits for a client";
        EXPECT_TRUE(silent.ask("y"));
        EXPECT_EQ(m.exit_code(), 0);
        m.await_silence();
        EXPECT_EQ(m.all().find("worker 2.1: this worker ends"), std::string::npos);
    });
}

TEST_F(prefork_forks, sockets_of_a_supervisor_of_services_are_used) {
    rt.run([] {
        const auto [web, port] = listening_socket();
        const auto [other, other_port] = listening_socket();
        ASSERT_NE(port, 0);
        ASSERT_NE(other_port, 0);
        line_client early({.host = "127.0.0.1", .port = port});  // waits in the queue
        master_process m({"-c", "LISTEN_PID=$$ LISTEN_FDS=3 LISTEN_FDNAMES=web:other:log exec \"$0\" serve 2 drain \"$1\"",
                          WEFT_PREFORK_SUBJECT, std::to_string(port)},
                         "/bin/sh", {web, other, STDERR_FILENO});
        ::close(web);
        ::close(other);
        EXPECT_EQ(m.port().port, port) << m.all();
        EXPECT_TRUE(early.ask("x"));
        EXPECT_NE(m.line_with("LISTEN_FDS has a socket on 127.0.0.1:" + std::to_string(other_port) +
                              ", which is not in options::listen; it is closed"),
                  "")
            << m.all();
        EXPECT_NE(m.line_with("descriptor 5 of LISTEN_FDS, \"log\", is no listening TCP socket or Unix socket for streams; it is closed"), "") << m.all();
        EXPECT_THROW(line_client({.host = "127.0.0.1", .port = other_port}), std::system_error);
        m.signal(SIGUSR2);  // its port goes on to the next program
        ASSERT_NE(m.line_with("generation 2 is ready"), "") << m.all();
        EXPECT_TRUE(eventually_here([&] { return line_client({.host = "127.0.0.1", .port = port}).ask("y")->generation == 2; }));
        m.signal(SIGTERM);
        EXPECT_TRUE(early.ask("z"));
        EXPECT_EQ(m.exit_code(), 0);
    });
}

TEST_F(prefork_forks, wrong_options_are_named) {
    char name[] = "test";
    char* argv[] = {name, nullptr};
    const auto complaint = [&](const prefork::options& o) {
        try {
            prefork::run(1, argv, o, [](prefork::worker&) {});
        } catch (const std::exception& e) {
            return std::string(e.what());
        }
        return std::string();
    };
    EXPECT_THAT(complaint({.grace = -1s}), HasSubstr("grace is -1000000000 ns"));
    EXPECT_THAT(complaint({.ready_within = 0s}), HasSubstr("ready_within is 0 ns; it must be more than zero"));
    EXPECT_THAT(complaint({.within = 0s}), HasSubstr("within is 0 ns"));
    EXPECT_THAT(complaint({.listen = {{"127.0.0.1 x", 1}}}), HasSubstr("127.0.0.1 x"));
    ::setenv("WEFT_PREFORK", "1.2.3", 1);
    EXPECT_THAT(complaint({}), HasSubstr("WEFT_PREFORK=\"1.2.3\""));
    EXPECT_EQ(std::getenv("WEFT_PREFORK"), nullptr);
    // The master of somebody else: this is no worker.
    ::setenv("WEFT_PREFORK", "1.2@1", 1);
    EXPECT_THAT(complaint({.listen = {{"127.0.0.1 x", 1}}}), HasSubstr("127.0.0.1 x"));
    EXPECT_EQ(std::getenv("WEFT_PREFORK"), nullptr);
    // A handover that is none, and one that a stranger has got.
    const int pipe_end = [] {
        int ends[2];
        EXPECT_EQ(::pipe(ends), 0);
        ::close(ends[1]);
        return ends[0];
    }();
    const auto file = std::to_string(pipe_end) + '@';
    ::setenv("WEFT_PREFORK_UPGRADE", (file + '1').c_str(), 1);
    EXPECT_THAT(complaint({.listen = {{"127.0.0.1 x", 1}}}), HasSubstr("127.0.0.1 x"));
    EXPECT_EQ(std::getenv("WEFT_PREFORK_UPGRADE"), nullptr);
    ::setenv("WEFT_PREFORK_UPGRADE", (file + std::to_string(::getpid())).c_str(), 1);
    EXPECT_THAT(complaint({}), HasSubstr("descriptor " + std::to_string(pipe_end) + " is not what a master leaves"));
}

}  // namespace
}  // namespace weft::test
