// fork_test.cpp - ask E3: what a forked child may do. It has one thread, no runtime runs in it, and
// it may make new ones.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <dirent.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "hazards/support/forked.hpp"
#include "support/eventually.hpp"
#include "support/no_leaks.hpp"
#include "support/scale.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

constexpr std::string_view any_kind;

/// Descriptors whose name in /proc contains `kind`.
int count_descriptors(std::string_view kind) {
    int n = 0;
    DIR* const all = ::opendir("/proc/self/fd");
    while (const auto* const entry = ::readdir(all)) {
        std::array<char, 256> target{};
        if (::readlinkat(::dirfd(all), entry->d_name, target.data(), target.size() - 1) > 0)
            n += std::string_view(target.data()).find(kind) != std::string_view::npos;
    }
    ::closedir(all);
    return n;
}

class forks : public on_workers {};
WEFT_ON_1_2_4_8_WORKERS(forks);

TEST_P(forks, ask_E3_of_a_fiber_whose_function_returns_end_the_child) {
    watched_runtime rt(GetParam());
    std::atomic<int> returned{0};
    pid_t child = -1;
    rt.spawn([&] {
          child = fork_now();
          if (child == 0) {
              hang_no_longer_than(most_seconds);
              return;
          }
          ++returned;
      }).join();
    EXPECT_EQ(end_of(child), 0);
    rt.run([&] {
        with_scope([&](scope& s) {
            auto c = s.spawn({.name = "forks"}, [&] {
                child = fork_now();
                if (child == 0) {
                    hang_no_longer_than(most_seconds);
                    throw std::runtime_error("in the child");
                }
                ++returned;
            });
            c.join();
        });
        EXPECT_EQ(end_of(child), 1);
        // in place: the joiner does not go on in the child
        auto f = spawn([&] {
            child = fork_now();
            if (child == 0) hang_no_longer_than(most_seconds);
            return ++returned;
        });
        f.join();
        if (child == 0) ::_exit(7);
    });
    EXPECT_EQ(end_of(child), 0);
    EXPECT_EQ(returned, 3);
}

TEST_P(forks, ask_E3_deadlines_and_shields_hold_in_the_child) {
    watched_runtime rt(GetParam());
    const auto within = [](bool shielded) {
        return with_timeout(50ms, [=] {
            std::optional<shield> calm;
            if (shielded) calm.emplace();
            return in_child([=] {
                try {
                    this_fiber::sleep_for(shielded ? 60ms : 1h);
                    ::_exit(2);
                } catch (const cancelled&) {
                    ::_exit(3);  // to become timeout_error in the frame that is the parent's as well
                }
            });
        });
    };
    EXPECT_EQ(rt.run([&] { return within(true); }), 2);
    EXPECT_EQ(rt.run([&] { return within(false); }), 3);
}

TEST_P(forks, ask_E3_descriptors_of_the_runtime_are_closed_in_the_child) {
    const int before = count_descriptors(any_kind);
    watched_runtime rt(GetParam());
    rt.run([] { this_fiber::sleep_for(1ms); });
    EXPECT_GT(count_descriptors(any_kind), before);
    EXPECT_EQ(in_child([before] {
                  WEFT_CHILD_MUST(count_descriptors(any_kind) <= before);
                  for (const std::string_view kind : {"eventpoll", "eventfd", "timerfd", "io_uring"})
                      WEFT_CHILD_MUST(count_descriptors(kind) == 0);
              }),
              0);
    rt.run([] { this_fiber::sleep_for(1ms); });
}

TEST_P(forks, ask_E3_an_inherited_runtime_stands_still) {
    if (WEFT_UNDER_TSAN)
        std::puts("left out: children that start threads, which ThreadSanitizer does not support where the parent has others");
    watched_runtime rt(GetParam());
    auto parked = rt.spawn([] { this_fiber::sleep_for(1h); });
    EXPECT_EQ(in_child([&] {
                  WEFT_CHILD_MUST(rt.inherited());
                  WEFT_CHILD_MUST(rt.stats().fibers == 0);
                  WEFT_CHILD_MUST(rt.shutdown(1h));
                  rt.for_each_fiber([](const fiber_info&) { ::_exit(1); });
              }),
              0);
    EXPECT_FALSE(rt.inherited());
    parked.request_stop();
    EXPECT_THROW(parked.join(), fiber_cancelled);
}

#if !WEFT_UNDER_TSAN  // see there

/// Everything a runtime does, small.
void use_runtime(runtime& rt) {
    std::atomic<int> sum{0};
    rt.run([&] {
        channel<int> numbers(2);
        with_scope([&](scope& s) {
            s.spawn([&] {
                for (int i = 1; i <= 100; ++i) numbers.send(i);
                numbers.close();
            });
            for (const int n : numbers) sum += n;
        });
        this_fiber::sleep_for(1ms);
        sum += blocking([] { return 50; });
        tcp::listener listener({.host = "127.0.0.1", .port = 0});
        auto client = spawn([&] {
            auto s = tcp::stream::connect(listener.local());
            s.write_all(std::string_view("hello"));
        });
        auto peer = listener.accept();
        std::array<std::byte, 5> text;
        peer.read_exact(text);
        client.join();
    });
    WEFT_CHILD_MUST(sum == 5100);
}

void use_new_runtime() {
    runtime rt({.workers = 2});
    use_runtime(rt);
}

TEST_P(forks, ask_E3_a_child_of_a_plain_thread_makes_a_runtime_of_its_own) {
    watched_runtime rt(GetParam());
    rt.run([] {});
    EXPECT_EQ(in_child(use_new_runtime), 0);
    rt.run([] {});  // the parent's goes on
}

TEST_P(forks, ask_E3_a_child_of_a_fiber_is_a_plain_thread_and_may_make_a_runtime) {
    watched_runtime rt(GetParam());
    const int code = rt.run([] {
        return in_child([] {
            WEFT_CHILD_MUST(runtime::current() == nullptr);
            WEFT_CHILD_MUST(this_fiber::id().value == 0);
            this_fiber::sleep_for(1ms);  // as a plain thread
            this_fiber::yield();
            use_new_runtime();
        });
    });
    EXPECT_EQ(code, 0);
    rt.run([] {});
}

TEST_P(forks, ask_E3_with_fibers_parked_and_running_and_pool_threads_at_work) {
    watched_runtime rt(GetParam());
    std::atomic<bool> over{false};
    std::vector<fiber<>> all;
    channel<int> never_sent;
    for (int i = 0; i < 50; ++i) all.push_back(rt.spawn([&] { never_sent.receive(); }));
    if (WEFT_UNDER_ASAN) {
        std::puts("left out: fibers that run while the process forks (fork_now() says why)");
    } else {
        for (int i = 0; i < 50; ++i)
            all.push_back(rt.spawn([&] {
                while (!over) this_fiber::sleep_for(200us);
            }));
        all.push_back(rt.spawn([&] {
            while (!over) compute_for(1ms), this_fiber::yield();
        }));
    }
    all.push_back(rt.spawn([&] { blocking([&] { over.wait(false); }); }));
    for (int i = 0; i < scaled(10, 5); ++i) {
        EXPECT_EQ(in_child(use_new_runtime), 0);
        EXPECT_EQ(rt.run([] { return in_child(use_new_runtime); }), 0);
    }
    over = true;
    over.notify_all();
    never_sent.close();
    for (auto& f : all) f.join();
}

TEST_P(forks, ask_E3_an_inherited_runtime_can_be_restarted) {
    watched_runtime rt(GetParam());
    auto parked = rt.spawn([] { this_fiber::sleep_for(1h); });
    const int code = in_child([&] {
        rt.restart();
        WEFT_CHILD_MUST(!rt.inherited());
        WEFT_CHILD_MUST(rt.stats().workers == GetParam());
        use_runtime(rt);
        WEFT_CHILD_MUST(eventually([&] { return rt.stats().fibers == 0; }));
        WEFT_CHILD_MUST(rt.shutdown(10s));
    });
    EXPECT_EQ(code, 0);
    EXPECT_FALSE(rt.inherited());
    parked.request_stop();
    EXPECT_THROW(parked.join(), fiber_cancelled);
}

TEST_P(forks, ask_E3_objects_of_the_parent_end_quietly_in_the_child) {
    const int code = in_child([&] {  // so that this test's own leak check is not the child's
        auto rt = std::make_unique<runtime>(runtime_options{.workers = GetParam()});
        auto f = rt->spawn([] { this_fiber::sleep_for(1h); });
        WEFT_CHILD_MUST(in_child([&] {
                            try {
                                f.join();
                                ::_exit(1);
                            } catch (const std::system_error& e) {
                                WEFT_CHILD_MUST(e.code() == std::errc::no_child_process);
                            }
                            WEFT_CHILD_MUST(!f.request_stop());
                            { const auto dropped = std::move(f); }
                            rt.reset();
                            use_new_runtime();
                        }) == 0);
        f = {};  // which stops it
        rt.reset();
    });
    EXPECT_EQ(code, 0);
}

TEST_P(forks, ask_E3_several_runtimes_at_once) {
    watched_runtime one(GetParam()), two(2u);
    auto parked = two.spawn([] { this_fiber::sleep_for(1h); });
    EXPECT_EQ(one.run([&] {
        return two.run([&] {
            return in_child([&] {
                WEFT_CHILD_MUST(one.inherited() && two.inherited());
                two.restart();
                use_runtime(two);
                one.restart();
                use_runtime(one);
                use_runtime(two);
            });
        });
    }),
              0);
    parked.request_stop();
}

TEST_P(forks, ask_E3_a_stream_goes_on_in_the_child_with_another_engine) {
    watched_runtime rt(GetParam());
    rt.run([] {
        tcp::listener listener({.host = "127.0.0.1", .port = 0});
        auto connecting = spawn([&] { return tcp::stream::connect(listener.local()); });
        auto here = listener.accept();
        auto there = connecting.join();
        auto late = spawn([&] {
            this_fiber::sleep_for(1ms);
            there.write_all(std::string_view("0"));
        });
        std::array<std::byte, 1> one;
        here.read_exact(one);  // now it is registered
        late.join();
        auto reader = spawn([&] {  // registered, too, with a waiter who is not in the child
            std::array<std::byte, 1> answer;
            there.read_exact(answer);
        });
        this_fiber::sleep_for(2ms);
        EXPECT_EQ(in_child([&] {
                      std::array<std::byte, 3> text;
                      {
                          runtime mine({.workers = 2});
                          mine.run([&] {
                              auto writer = spawn([&] {
                                  this_fiber::sleep_for(5ms);
                                  there.write_all(std::string_view("abcd"));
                              });
                              here.read_exact(text);
                              writer.join();
                          });
                      }
                      std::array<std::byte, 1> last;
                      here.read_exact(last);  // and as a plain thread
                      WEFT_CHILD_MUST(std::to_integer<char>(text[2]) == 'c' && std::to_integer<char>(last[0]) == 'd');
                  }),
                  0);
        here.write_all(std::string_view("x"));
        reader.join();
    });
}

TEST_P(forks, ask_E3_a_child_may_fork_again) {
    watched_runtime rt(GetParam());
    EXPECT_EQ(rt.run([] {
        return in_child([] {
            runtime mine({.workers = 2});
            WEFT_CHILD_MUST(mine.run([] { return in_child(use_new_runtime); }) == 0);
        });
    }),
              0);
}

TEST_P(forks, ask_E3_while_other_threads_make_and_end_things_stress) {
    std::atomic<bool> over{false};
    std::mutex one_at_a_time;
    const auto in_turn = [&] { return WEFT_UNDER_ASAN ? std::unique_lock(one_at_a_time) : std::unique_lock<std::mutex>(); };
    if (WEFT_UNDER_ASAN) std::puts("left out: forks in the midst of it, not between (fork_now() says why)");
    std::vector<std::thread> busy;
    for (int i = 0; i < 2; ++i)
        busy.emplace_back([&] {
            while (!over) {
                const auto turn = in_turn();
                runtime rt({.workers = 2});
                rt.run([] {
                    std::vector<fiber<>> all;
                    for (int n = 0; n < 20; ++n)
                        all.push_back(spawn({.stack_bytes = std::size_t{16 + static_cast<unsigned>(n)} << 10}, [] {
                            io::pipe p;
                            fiber_local<int> mine;
                            mine.get() = 1;
                            this_fiber::yield();
                        }));
                    for (auto& f : all) f.join();
                });
            }
        });
    for (int i = 0; i < scaled(15, 5); ++i) {
        const auto turn = in_turn();
        EXPECT_EQ(in_child(use_new_runtime), 0);
    }
    over = true;
    for (auto& t : busy) t.join();
}

// The lock of a process object may be locked for good in the child, by a thread that is not there.
TEST_P(forks, of_a_process_object_that_another_thread_uses_end_quietly) {
    runtime rt({.workers = GetParam()});
    auto program = rt.spawn([] { return io::process({"sleep", "1000"}); }).join();
    std::atomic<bool> over{false};
    std::thread other([&] {
        std::error_code error;
        while (!over) program.signal(0, error);
    });
    int bad = 0;
    for (int i = 0; i < 30 && bad == 0; ++i) {
        const pid_t child = ::fork();  // in the midst of it; the other thread allocates nothing
        if (child == 0) {
            hang_no_longer_than(most_seconds);
            WEFT_CHILD_MUST(program.joinable());
            std::error_code error;
            program.signal(0, error);
            WEFT_CHILD_MUST(error == std::errc::no_such_process);
            { const auto moved = std::move(program); }
            ::_exit(0);
        }
        bad += end_of(child) != 0;
    }
    EXPECT_EQ(bad, 0);
    over = true;
    other.join();
    EXPECT_TRUE(program.joinable());
}

TEST(forks_death, an_inherited_runtime_takes_no_fibers) {
    EXPECT_DEATH(
        {
            runtime rt({.workers = 2});
            const int code = in_child([&] { rt.spawn([] {}).join(); });
            if (code == 128 + SIGABRT) std::abort();
        },
        "runs in the parent: restart\\(\\) it");
    EXPECT_DEATH(
        {
            runtime rt({.workers = 1});
            rt.restart();
        },
        "for a forked child");
}

#endif

}  // namespace
}  // namespace weft::test
