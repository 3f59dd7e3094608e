// process_test.cpp - child processes: started, fed, read, waited for, stopped; nobody's SIGCHLD and nobody's wait() is touched.
#include <weft/io/process.hpp>

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <atomic>
#include <csignal>
#include <string>
#include <thread>

#include <weft/deadline.hpp>
#include <weft/fiber.hpp>
#include <weft/io/stream.hpp>
#include <weft/net/tcp.hpp>
#include <weft/runtime.hpp>

#include "support/no_leaks.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

using io::exit_status;
using io::process;
using io::process_options;
using io::redirect;
using words = std::vector<std::string>;

std::string all_of(io::pipe_reader& from) {
    std::string text;
    std::array<std::byte, 256> piece;
    while (const auto n = from.read_some(piece)) text.append(reinterpret_cast<const char*>(piece.data()), n);
    return text;
}

words shell(const std::string& script) { return {"sh", "-c", script}; }

class processes : public on_workers {
protected:
    watched_runtime rt{GetParam()};
};
WEFT_ON_1_2_4_8_WORKERS(processes);

TEST_P(processes, ask_E4_end_with_a_code_or_a_signal) {
    rt.run([] {
        EXPECT_TRUE(process({"true"}).wait().success());
        process three(shell("exit 3"));
        EXPECT_EQ(three.wait().code, 3);
        EXPECT_EQ(three.wait().code, 3) << "the same again";
        EXPECT_FALSE(three.joinable());
        const auto killed = process(shell("kill -9 $$")).wait();
        EXPECT_EQ(killed.signal, SIGKILL);
        EXPECT_FALSE(killed.success());
    });
}

TEST_P(processes, ask_E4_have_none_of_wefts_descriptors) {
    rt.run([] {
        tcp::listener listener({.host = "127.0.0.1", .port = 0});
        auto waits = spawn([&] { listener.accept(); });
        const auto one = tcp::stream::connect({.host = "127.0.0.1", .port = listener.local().port});
        process counts(shell("for fd in /proc/$$/fd/*; do readlink $fd; done"), {.out = redirect::pipe});
        const auto open = all_of(counts.out());
        EXPECT_NE(open.find("pipe:"), std::string::npos) << open;
        for (const char* const kind : {"socket:", "[eventpoll]", "[eventfd]", "[timerfd]"})
            EXPECT_EQ(open.find(kind), std::string::npos) << open;
        waits.join();
    });
}

// Handlers of fork() run in every way to a child but posix_spawn() and vfork(). That they are called here at all is shown by a fork.
TEST_P(processes, ask_E4_are_started_without_fork) {
    static std::atomic<int> forks{0};
    static const int not_installed = ::pthread_atfork([] { ++forks; }, nullptr, nullptr);
    ASSERT_EQ(not_installed, 0);
    const pid_t forked = ::fork();
    if (forked == 0) ::_exit(0);
    int status = 0;
    ASSERT_EQ(::waitpid(forked, &status, 0), forked);
    const int before = forks;
    ASSERT_GT(before, 0);
    rt.run([] {
        EXPECT_TRUE(process({"true"}).wait().success());
        process with_all({"cat"}, {.in = redirect::pipe, .out = redirect::pipe, .directory = "/"});
        with_all.in().close();
        EXPECT_TRUE(with_all.wait().success());
    });
    EXPECT_EQ(forks, before);
}

TEST_P(processes, ask_E4_many_are_waited_for_at_once_and_nobody_blocks) {
    rt.run([] {
        std::vector<fiber<int>> all;
        for (int i = 0; i < 16; ++i)
            all.push_back(spawn(
                [i] { return process(shell("sleep 0.0" + std::to_string(i % 5) + "; exit " + std::to_string(i))).wait().code; }));
        for (int i = 0; i < 16; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)].join(), i);
    });
}

TEST_P(processes, ask_E4_are_fed_and_read_through_pipes) {
    rt.run([] {
        process upper({"tr", "a-z", "A-Z"}, {.in = redirect::pipe, .out = redirect::pipe});
        auto reader = spawn([&] { return all_of(upper.out()); });
        const std::string text(200'000, 'x');  // more than a pipe holds
        upper.in().write_all(text);
        upper.in().close();
        EXPECT_EQ(reader.join(), std::string(200'000, 'X'));
        EXPECT_TRUE(upper.wait().success());
        process both(shell("echo out; echo err >&2"), {.in = redirect::discard, .out = redirect::pipe, .err = redirect::pipe});
        EXPECT_EQ(all_of(both.out()), "out\n");
        EXPECT_EQ(all_of(both.err()), "err\n");
    });
}

TEST_P(processes, ask_E4_start_in_a_directory_and_with_an_environment) {
    rt.run([] {
        process p(shell("pwd; echo $GREETING"),
                  {.out = redirect::pipe, .directory = "/", .environment = words{"GREETING=hello", "PATH=/bin:/usr/bin"}});
        EXPECT_EQ(all_of(p.out()), "/\nhello\n");
    });
}

TEST_P(processes, ask_E4_that_cannot_start_say_so) {
    rt.run([] {
        try {
            const process p({"/there/is/no/such/program"});
            ADD_FAILURE() << "it has started";
        } catch (const std::system_error& e) {
            EXPECT_EQ(e.code(), std::errc::no_such_file_or_directory);
            EXPECT_NE(std::string(e.what()).find("/there/is/no/such/program"), std::string::npos);
        }
        EXPECT_THROW(process(words{}), std::system_error);
    });
}

std::string why_not(const words& program, process_options options) {
    try {
        process(program, std::move(options)).wait();
        return "started";
    } catch (const std::system_error& e) {
        return e.what();
    }
}

TEST_P(processes, a_missing_directory_is_named_and_not_the_program) {
    rt.run([] {
        EXPECT_EQ(why_not({"true"}, {.directory = "/no/such"}),
                  "weft: cannot start true: working directory /no/such: No such file or directory");
        EXPECT_EQ(why_not({"true"}, {.directory = "/dev/null"}),
                  "weft: cannot start true: working directory /dev/null: Not a directory");
        EXPECT_EQ(why_not({"no-such-program"}, {.directory = "/"}),
                  "weft: cannot start no-such-program: No such file or directory");
        EXPECT_EQ(why_not({"true"}, {.directory = "/"}), "started");
    });
}

// ---- groups of processes: the end of what a child's output goes to tells that its children have ended as well

const std::string starts_another = "sleep 1000 & echo ready; wait";

void expect_line(io::pipe_reader& from) {
    std::array<std::byte, 6> line;
    io::read_exact(from, line);
}

TEST_P(processes, with_a_group_end_with_what_they_have_started) {
    rt.run([] {
        for (const auto group : {io::process_group::own, io::process_group::session}) {
            process child(shell(starts_another), {.out = redirect::pipe, .group = group});
            expect_line(child.out());
            auto output = std::move(child.out());
            child = process();
            EXPECT_EQ(all_of(output), "");
        }
    });
}

TEST_P(processes, with_a_group_end_with_what_they_have_started_after_a_wait_that_took_too_long) {
    rt.run([] {
        io::pipe_reader output;
        EXPECT_THROW(with_timeout(30ms,
                                  [&] {
                                      process child(shell(starts_another),
                                                    {.out = redirect::pipe, .group = io::process_group::own});
                                      output = std::move(child.out());
                                      child.wait();
                                  }),
                     timeout_error);
        if (output.is_open()) static_cast<void>(all_of(output));  // it comes to an end
    });
}

TEST_P(processes, may_be_sent_signals_while_another_fiber_waits) {
    rt.run([] {
        process child({"sleep", "1000"});
        auto end = spawn([&] { return child.wait(); });
        child.signal(SIGTERM);
        std::error_code error;
        while (!error) child.signal(0, error);  // until the exit status was taken
        EXPECT_EQ(error, std::errc::no_such_process);
        EXPECT_EQ(end.join().signal, SIGTERM);
    });
}

TEST_P(processes, a_signal_to_a_group_reaches_all_of_it) {
    rt.run([] {
        process child(shell(starts_another), {.out = redirect::pipe, .group = io::process_group::own});
        expect_line(child.out());
        child.signal_group(SIGTERM);
        EXPECT_EQ(all_of(child.out()), "");
        EXPECT_EQ(child.wait().signal, SIGTERM);
        EXPECT_THROW(child.signal_group(SIGTERM), std::system_error);
    });
}

TEST_P(processes, a_signal_to_a_group_is_refused_without_one_of_its_own) {
    rt.run([] {
        process child(shell("exec sleep 1000"));
        try {
            child.signal_group(SIGTERM);
            ADD_FAILURE() << "it went to this process as well";
        } catch (const std::system_error& e) {
            EXPECT_EQ(e.code(), std::errc::operation_not_permitted);
        }
    });
}

TEST_P(processes, ask_E4_a_wait_can_be_stopped_and_the_child_runs_on) {
    rt.run([] {
        process p({"sleep", "100"});
        EXPECT_THROW(with_timeout(20ms, [&] { p.wait(); }), timeout_error);
        EXPECT_FALSE(p.try_wait());
        auto waiting = spawn([&] { p.wait(); });
        this_fiber::sleep_for(5ms);
        waiting.request_stop();
        EXPECT_THROW(waiting.join(), fiber_cancelled);
        p.signal(SIGTERM);
        EXPECT_EQ(p.wait().signal, SIGTERM);
        EXPECT_THROW(p.signal(SIGTERM), std::system_error);
    });
}

TEST_P(processes, ask_E4_that_nobody_waits_for_are_ended_with_their_object) {
    rt.run([] {
        int id = 0;
        {
            const process p({"sleep", "100"});
            id = p.id();
            EXPECT_EQ(::kill(id, 0), 0);
        }
        EXPECT_NE(::kill(id, 0), 0) << "no zombie either";
        process first({"sleep", "100"});
        const int ended = first.id();
        first = process({"true"});
        EXPECT_NE(::kill(ended, 0), 0);
        EXPECT_TRUE(first.wait().success());
    });
}

TEST_P(processes, ask_E4_of_a_writer_whose_reader_has_gone_there_is_no_signal) {
    rt.run([] {
        process p({"true"}, {.in = redirect::pipe});
        p.wait();
        EXPECT_THROW(p.in().write_all(std::string(100'000, 'x')), std::system_error);
        std::error_code error;
        p.in().write_some(std::as_bytes(std::span("x", 1)), error);
        EXPECT_EQ(error, std::errc::broken_pipe);
    });
}

TEST_P(processes, ask_E4_from_plain_threads) {
    process p({"cat"}, {.in = redirect::pipe, .out = redirect::pipe});
    p.in().write_all("abc");
    p.in().close();
    EXPECT_EQ(all_of(p.out()), "abc");
    EXPECT_TRUE(p.wait().success());
}

std::atomic<int> others_signals = 0;

// Ask E4: somebody else owns SIGCHLD, and waits for children of his own.
TEST_P(processes, ask_E4_sigchld_and_other_peoples_children_are_left_alone) {
    struct sigaction theirs = {}, before = {}, after = {};
    theirs.sa_handler = [](int) { ++others_signals; };
    theirs.sa_flags = SA_RESTART;
    ::sigaction(SIGCHLD, &theirs, &before);
    const pid_t stranger = ::fork();
    if (stranger == 0) {
        ::usleep(20'000);
        ::_exit(42);
    }
    rt.run([] {
        for (int i = 0; i < 5; ++i) EXPECT_EQ(process(shell("exit 5")).wait().code, 5);
    });
    ::sigaction(SIGCHLD, nullptr, &after);
    EXPECT_EQ(after.sa_handler, theirs.sa_handler);
    int status = 0;
    EXPECT_EQ(::waitpid(stranger, &status, 0), stranger) << "its end is still there to take";
    EXPECT_EQ(WEXITSTATUS(status), 42);
    ::sigaction(SIGCHLD, &before, nullptr);
}

TEST_P(processes, ask_E4_of_whom_somebody_else_has_taken_the_end_are_missing) {
    rt.run([] {
        process p({"true"});
        int status = 0;
        while (::waitpid(p.id(), &status, 0) < 0) {}
        std::error_code error;
        p.wait(error);
        EXPECT_EQ(error, std::errc::no_child_process);
        EXPECT_THROW(p.signal(SIGTERM), std::system_error) << "the number may be another's";
    });
}

TEST_P(processes, pipes_are_streams) {
    rt.run([] {
        io::pipe p;
        auto reader = spawn([&] { return all_of(p.reader); });
        p.writer.write_all("one ");
        this_fiber::sleep_for(1ms);
        p.writer.write_all("two");
        p.writer.close();
        EXPECT_EQ(reader.join(), "one two");
        EXPECT_FALSE(p.writer.is_open());
        p.reader.close();
        std::error_code error;
        std::array<std::byte, 1> one;
        EXPECT_EQ(p.reader.read_some(one, error), 0u);
        EXPECT_EQ(error, std::errc::bad_file_descriptor);
    });
}

}  // namespace
}  // namespace weft::test
