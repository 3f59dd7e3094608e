// stop_matrix_io_test.cpp - calls that block, calls that call back, signals and child processes, interrupted in all ways.
#include "support/stop_matrix.hpp"

#include <weft/blocking.hpp>
#include <weft/io/file.hpp>
#include <weft/io/process.hpp>
#include <weft/io/signal.hpp>
#include <weft/latch.hpp>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "io/hooked/waits.hpp"
#include "io/support/file_place.hpp"

using namespace std::chrono_literals;

namespace weft::test::matrix {
namespace {

class interruption_of_a_call : public interruption {};
TEST_P(interruption_of_a_call, is_as_documented) { check(); }

/// All threads of the caller's blocking pool are busy while it lives.
class busy_pool {
public:
    busy_pool() {
        for (int i = 0; i < threads; ++i)
            blocking_detached([s = state_] {
                ++s->started;
                while (!s->over) std::this_thread::sleep_for(200us);
            });
        EXPECT_TRUE(eventually_here([&] { return state_->started == threads; }));
    }
    ~busy_pool() { end(); }
    void end() { state_->over = true; }

private:
    static constexpr int threads = 64;
    struct state {
        std::atomic<int> started{0};
        std::atomic<bool> over{false};
    };
    std::shared_ptr<state> state_ = std::make_shared<state>();
};

void a_blocking_call_that_has_begun(scene& s) {
    s.about_to_wait();
    bool ended = false;
    struct checks_at_the_end {
        bool& ended;
        ~checks_at_the_end() { EXPECT_TRUE(ended) << "a started call is waited for"; }
    };
    std::optional<checks_at_the_end> check;
    blocking([&] {
        check.emplace(ended);
        std::this_thread::sleep_for(s.delay());
        ended = true;
    });
}

void a_blocking_call_that_has_not(scene& s) {
    busy_pool all_of_it;
    bool began = false;
    s.wait_for_signal([&] { all_of_it.end(); }, [&] { blocking([&] { began = true; }); });
    EXPECT_TRUE(began);
}

void a_blocking_call_that_listens(scene& s) {
    s.about_to_wait();
    blocking([until = std::chrono::steady_clock::now() + s.delay()](std::stop_token stop) {
        while (!stop.stop_requested() && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(200us);
    });
}

/// What a callback is given, for the one who calls it: on a slow machine his time may come before the wait has begun.
template <class T>
struct kept_resumer {
    void keep(resumer<T> r) { resume.emplace(std::move(r)), is_there = true; }
    resumer<T>& get() {
        while (!is_there) this_fiber::sleep_for(100us);
        return *resume;
    }

    std::optional<resumer<T>> resume;
    std::atomic<bool> is_there{false};
};

void a_callback(scene& s) {
    kept_resumer<int> kept;
    s.wait_for_signal([&] { kept.get()(7); },
                      [&] { EXPECT_EQ(await_callback<int>([&](auto resume) { kept.keep(resume); }), 7); });
}

void a_callback_that_can_be_called_off(scene& s) {
    kept_resumer<void> kept;
    bool called_off = false;
    try {
        s.wait_for_signal([&] { kept.get()(); },
                          [&] {
                              await_callback<void>([&](auto resume) { kept.keep(resume); },
                                                   [&] {
                                                       called_off = true;
                                                       this_fiber::yield();  // shielded
                                                   });
                          });
    } catch (const cancelled&) {
        EXPECT_EQ(called_off, kept.is_there) << "what was started is called off";
        throw;
    }
    EXPECT_FALSE(called_off);
}

void a_signal(scene& s) {
    io::signals usr1({SIGUSR1});
    s.wait_for_signal([] { ::raise(SIGUSR1); }, [&] { EXPECT_EQ(usr1.wait(), SIGUSR1); });
}

void a_signal_by_error_code(scene& s) {
    io::signals usr2({SIGUSR2});
    std::error_code error;
    s.wait_for_signal([] { ::raise(SIGUSR2); }, [&] { usr2.wait(error); });
    s.reported(error);
}

void the_end_of_a_process(scene& s) {
    auto child = s.prepare([] { return io::process({"sleep", "1000"}); });
    s.wait_for_signal([&] { child.signal(SIGKILL); }, [&] { EXPECT_EQ(child.wait().signal, SIGKILL); });
}

/// A call of a library that waits for one end of a socket, or for both.
void a_hooked_call(scene& s, std::vector<short> events) {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    const std::string much(std::size_t{1} << 16, 'x');
    while ((events.front() & POLLOUT) && ::send(ends[0], much.data(), much.size(), MSG_DONTWAIT) > 0) continue;
    std::vector<pollfd> wanted;
    for (const short e : events) wanted.push_back({.fd = ends[0], .events = e, .revents = 0});
    const detail::hook_call call{.name = "poll", .caller = nullptr};
    long result = -1;
    s.wait_for_signal(
        [&] {
            std::vector<char> room(1 << 20);
            EXPECT_EQ(::send(ends[1], "x", 1, MSG_DONTWAIT), 1);
            while (::recv(ends[1], room.data(), room.size(), MSG_DONTWAIT) > 0) continue;
        },
        [&] { result = detail::hooked_wait(wanted.data(), wanted.size(), detail::hook_never, call); });
    for (const int fd : ends) {
        detail::hooked_closing(fd);
        ::close(fd);
    }
    s.reported(std::error_code(static_cast<int>(-result), std::system_category()));
}

void a_hooked_read(scene& s) { a_hooked_call(s, {POLLIN}); }
void a_hooked_write(scene& s) { a_hooked_call(s, {POLLOUT}); }
void a_hooked_poll(scene& s) { a_hooked_call(s, {POLLIN, POLLPRI}); }

void a_hooked_sleep(scene& s) {
    const detail::hook_call call{.name = "sleep", .caller = nullptr};
    s.about_to_wait();
    const long result = detail::hooked_sleep(detail::hooked_now() + s.delay().count(), call);
    s.reported(result == -ETIME ? std::error_code() : std::error_code(static_cast<int>(-result), std::system_category()));
}

/// A FIFO is opened for reading when it has a writer. The other side stays until the first is open.
void a_fifo_that_is_opened(scene& s, void (*open)(scene& s, const std::string& path)) {
    const file_place place;
    const std::string path = place / "fifo";
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    std::atomic<int> other_side{-1};
    const auto end_wait = [&] { other_side = ::open(path.c_str(), O_RDWR | O_CLOEXEC); };
    struct closes {
        std::atomic<int>& fd;
        ~closes() {
            if (fd >= 0) ::close(fd);
        }
    } const at_the_end{other_side};
    s.wait_for_signal(end_wait, [&] { open(s, path); });
}

void a_file_that_is_opened(scene& s) {
    a_fifo_that_is_opened(s, [](scene&, const std::string& path) { EXPECT_TRUE(io::file::open(path).is_open()); });
}

void a_file_that_is_opened_by_error_code(scene& s) {
    a_fifo_that_is_opened(s, [](scene& of, const std::string& path) {
        std::error_code error;
        const auto f = io::file::open(path, io::file::read, error);
        of.reported(error);
    });
}

std::vector<park_point> of_calls() {
    // Without a ring an open that has begun cannot be cancelled; its result is returned.
    const auto of_open = ring_is_here() ? outcome::throws : outcome::on_entry_only;
    return {
        {"a_file_that_is_opened", a_file_that_is_opened, of_open, outcome::on_entry_only},
        {"a_file_that_is_opened_by_error_code", a_file_that_is_opened_by_error_code, of_open, outcome::on_entry_only},
        {"a_hooked_read", a_hooked_read, outcome::throws, outcome::untried},
        {"a_hooked_write", a_hooked_write, outcome::throws, outcome::untried},
        {"a_hooked_poll", a_hooked_poll, outcome::throws, outcome::untried},
        {"a_hooked_sleep", a_hooked_sleep, outcome::throws, outcome::untried},
        {"the_end_of_a_process", the_end_of_a_process},
        {"a_blocking_call_that_has_begun", a_blocking_call_that_has_begun, outcome::throws_late, outcome::on_entry_only},
        {"a_blocking_call_that_has_not_begun", a_blocking_call_that_has_not, outcome::throws, outcome::untried},
        {"a_blocking_call_that_listens", a_blocking_call_that_listens, outcome::throws, outcome::untried},
        {"a_callback", a_callback},
        {"a_callback_that_can_be_called_off", a_callback_that_can_be_called_off},
        {"a_signal", a_signal},
        {"a_signal_by_error_code", a_signal_by_error_code},
    };
}

INSTANTIATE_TEST_SUITE_P(all, interruption_of_a_call, ::testing::ValuesIn(rows_of(of_calls())),
                         [](const auto& each) { return name_of(each.param); });

}  // namespace
}  // namespace weft::test::matrix
