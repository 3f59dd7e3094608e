// dump_service_test.cpp - dumps for who asks from outside: by a signal and by the socket; whose the signal may be; and what is left behind.
#include <weft/dump.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>

#include <weft/latch.hpp>

#include "runtime/dump/dump_socket.hpp"
#include "support/eventually.hpp"
#include "support/no_leaks.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

const int free_signal = SIGRTMIN + 7;

runtime_options serving(unsigned workers = 1) { return {.workers = workers, .dump_signal = free_signal}; }

class dump_service : public no_leaks {};

/// What is written to stderr while it lives.
class stderr_in_a_pipe {
public:
    stderr_in_a_pipe() : before_(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)) {
        EXPECT_EQ(::pipe2(ends_.data(), O_CLOEXEC), 0);
        EXPECT_GE(::dup2(ends_[1], STDERR_FILENO), 0);
    }
    ~stderr_in_a_pipe() {
        EXPECT_GE(::dup2(before_, STDERR_FILENO), 0);
        for (const int fd : {before_, ends_[0], ends_[1]}) ::close(fd);
    }
    stderr_in_a_pipe(const stderr_in_a_pipe&) = delete;
    stderr_in_a_pipe& operator=(const stderr_in_a_pipe&) = delete;

    /// Everything up to the first occurrence of `part`, or what has come in 20 s.
    std::string read_up_to(std::string_view part) const {
        std::string all;
        pollfd wanted{ends_[0], POLLIN, 0};
        while (all.find(part) == std::string::npos && ::poll(&wanted, 1, 20'000) == 1) {
            std::array<char, 4096> some;
            const auto n = ::read(ends_[0], some.data(), some.size());
            if (n <= 0) break;
            all.append(some.data(), static_cast<std::size_t>(n));
        }
        return all;
    }

private:
    int before_;
    std::array<int, 2> ends_{};
};

bool is_default(int number) {
    struct sigaction now = {};
    return ::sigaction(number, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_DFL;
}

/// The answer of this process to that line; nothing if nobody listens.
std::string answer_to(std::string_view line) {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const detail::dump_socket there(::getpid());
    std::string all;
    if (::connect(fd, there.get(), there.bytes) == 0 && ::send(fd, line.data(), line.size(), MSG_NOSIGNAL) > 0) {
        std::array<char, 4096> some;
        for (ssize_t n; (n = ::recv(fd, some.data(), some.size(), 0)) > 0;) all.append(some.data(), static_cast<std::size_t>(n));
    }
    ::close(fd);
    return all;
}

std::string refusal_of(const runtime_options& o) {
    try {
        runtime rt(o);
    } catch (const std::invalid_argument& e) {
        return e.what();
    }
    return "none";
}

TEST_F(dump_service, a_signal_prints_all_fibers) {
    watched_runtime rt(serving());
    latch over(1);
    auto f = rt.spawn({.name = "patient"}, [&] { over.wait(); });
    ASSERT_TRUE(eventually([&] { return waiting_for(rt, "latch") == 1; }));
    {
        const stderr_in_a_pipe errors;
        ASSERT_EQ(::kill(::getpid(), free_signal), 0);
        const auto text = errors.read_up_to("weft_context_base");
        EXPECT_NE(text.find("\"patient\""), std::string::npos) << text;
        EXPECT_NE(text.find("waiting for latch"), std::string::npos) << text;
    }
    over.count_down();
    f.join();
}

TEST_F(dump_service, a_signal_is_answered_while_every_worker_computes) {
    watched_runtime rt(serving());
    std::atomic<bool> over{false};
    auto f = rt.spawn({.name = "busy"}, [&] {
        while (!over) {}
    });
    {
        const stderr_in_a_pipe errors;
        ASSERT_EQ(::kill(::getpid(), free_signal), 0);
        EXPECT_NE(errors.read_up_to("\"busy\"").find("\"busy\""), std::string::npos);
    }
    over = true;
    f.join();
}

TEST_F(dump_service, answers_in_text_and_json_to_its_own_user) {
    watched_runtime rt(serving());
    ASSERT_TRUE(eventually([] { return !answer_to("text\n").empty(); }));
    EXPECT_TRUE(answer_to("text\n").starts_with("weft: runtime \"weft\", workers: 1, fibers: 0\n"));
    EXPECT_EQ(answer_to("json\n"),
              "{\"runtimes\":[{\"name\":\"weft\",\"workers\":1,\"refused\":0,\"asleep\":[],\"fibers\":[]}],\"cycles\":[]}\n");
    EXPECT_EQ(answer_to("something else\n"), "");
}

TEST_F(dump_service, nothing_is_left_behind) {
    for (int i = 0; i < 5; ++i) {
        {
            watched_runtime one(serving()), other(serving(2));
            EXPECT_FALSE(is_default(free_signal));
        }
        EXPECT_TRUE(is_default(free_signal));
        EXPECT_EQ(answer_to("text\n"), "");
    }
    watched_runtime none(1);
    EXPECT_TRUE(is_default(free_signal));
}

TEST_F(dump_service, a_signal_that_makes_no_sense_is_refused_by_name) {
    EXPECT_NE(refusal_of({.workers = 1, .dump_signal = -1}).find("runtime_options::dump_signal must be 0 (none) to "),
              std::string::npos);
    EXPECT_NE(refusal_of({.workers = 1, .dump_signal = SIGSEGV}).find("dump_signal: signal 11"), std::string::npos);
    ::setenv("WEFT_DUMP_SIGNAL", "999", 1);
    EXPECT_NE(refusal_of({.workers = 1}).find("WEFT_DUMP_SIGNAL must be a number"), std::string::npos);
    ::unsetenv("WEFT_DUMP_SIGNAL");
    EXPECT_EQ(refusal_of(serving()), "none");
}

TEST_F(dump_service, a_signal_of_somebody_else_is_refused) {
    ::signal(free_signal, [](int) {});
    EXPECT_NE(refusal_of(serving()).find("has a handler already"), std::string::npos);
    ::signal(free_signal, SIG_IGN);
    EXPECT_NE(refusal_of(serving()).find("is ignored, by somebody's wish"), std::string::npos);
    ::signal(free_signal, SIG_DFL);
    const watched_runtime rt(serving());
    EXPECT_NE(refusal_of({.workers = 1, .dump_signal = free_signal + 1}).find("another runtime of the process has chosen signal"),
              std::string::npos);
    EXPECT_TRUE(is_default(free_signal + 1));
}

TEST_F(dump_service, without_a_signal_it_answers_whoever_asks) {
    for (int i = 0; i < 3; ++i) {
        {
            const watched_runtime rt(runtime_options{.workers = 1, .inspect = true});
            ASSERT_TRUE(eventually([] { return !answer_to("text\n").empty(); }));
            EXPECT_TRUE(is_default(free_signal));
        }
        EXPECT_EQ(answer_to("text\n"), "");
    }
    ::setenv("WEFT_INSPECT", "1", 1);
    {
        const watched_runtime rt(1);
        EXPECT_TRUE(eventually([] { return !answer_to("json\n").empty(); }));
    }
    ::setenv("WEFT_INSPECT", "0", 1);
    {
        const watched_runtime rt(runtime_options{.workers = 1, .inspect = true});
        EXPECT_EQ(answer_to("text\n"), "");
    }
    ::setenv("WEFT_INSPECT", "yes", 1);
    EXPECT_NE(refusal_of({.workers = 1}).find("WEFT_INSPECT must be a number from 0 to 1"), std::string::npos);
    ::unsetenv("WEFT_INSPECT");
}

TEST_F(dump_service, a_signal_may_be_chosen_after_the_first_runtime_that_answers) {
    const watched_runtime first(runtime_options{.workers = 1, .inspect = true});
    ASSERT_TRUE(eventually([] { return !answer_to("text\n").empty(); }));
    {
        watched_runtime second(serving());
        const stderr_in_a_pipe errors;
        ASSERT_EQ(::kill(::getpid(), free_signal), 0);
        EXPECT_NE(errors.read_up_to("workers: 1").find("weft: runtime"), std::string::npos);
    }
    EXPECT_FALSE(answer_to("text\n").empty());
}

TEST_F(dump_service, the_environment_overrides) {
    ::setenv("WEFT_DUMP_SIGNAL", std::to_string(free_signal).c_str(), 1);
    {
        watched_runtime rt(1);
        EXPECT_FALSE(is_default(free_signal));
    }
    ::setenv("WEFT_DUMP_SIGNAL", "0", 1);
    {
        watched_runtime rt(serving());
        EXPECT_TRUE(is_default(free_signal));
    }
    ::unsetenv("WEFT_DUMP_SIGNAL");
}

}  // namespace
}  // namespace weft::test
