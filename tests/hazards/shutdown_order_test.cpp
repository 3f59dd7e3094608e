// shutdown_order_test.cpp - ask E1: the order in which a runtime ends, as docs/design/process.md
// has it, seen by those who depend on it.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <optional>
#include <string_view>
#include <thread>

#include "support/eventually.hpp"
#include "support/no_leaks.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

class shutdown_order : public on_workers {};
WEFT_ON_1_2_4_8_WORKERS(shutdown_order);

TEST_P(shutdown_order, ask_E1_step_1_a_fiber_may_use_pool_driver_timers_and_spawn_to_its_last_step) {
    std::atomic<int> done{0};
    {
        watched_runtime rt(GetParam());
        for (int i = 0; i < 5; ++i)
            rt.spawn_detached([&] {
                try {
                    this_fiber::sleep_for(1h);
                } catch (const cancelled&) {
                    const shield cleaning_up;
                    this_fiber::sleep_for(1ms);
                    done += blocking([] { return 1; });
                    tcp::listener listener({.host = "127.0.0.1", .port = 0});
                    auto client = tcp::stream::connect(listener.local());
                    auto peer = listener.accept();
                    peer.write_all(std::string_view("x"));
                    std::array<std::byte, 1> one;
                    client.read_exact(one);
                    done += spawn([] { return 1; }).join();  // born stopped, but it runs
                }
            });
        EXPECT_TRUE(eventually([&] { return waiting_for(rt, "sleep") == 5; }));
    }
    EXPECT_EQ(done, 10);
}

TEST_P(shutdown_order, ask_E1_step_3_shutdown_may_be_called_again_and_a_stopped_runtime_runs_what_comes_stopped) {
    watched_runtime rt(GetParam());
    EXPECT_TRUE(rt.shutdown(10s));
    bool was_stopped = false;
    rt.spawn([&] {
          try {
              this_fiber::yield();
          } catch (const cancelled&) {
              was_stopped = true;
          }
      }).join();
    EXPECT_TRUE(was_stopped);
    EXPECT_TRUE(rt.shutdown(10s));
    EXPECT_TRUE(rt.shutdown(0s));
}

TEST_P(shutdown_order, ask_E1_step_5_a_detached_call_that_lasts_is_left_behind) {
    struct mailbox {
        std::atomic<bool> go{false}, gone{false};
    };
    auto shared = std::make_shared<mailbox>();
    const auto begin = std::chrono::steady_clock::now();
    {
        watched_runtime rt(GetParam());
        rt.run([&] {
            blocking_detached([shared] {
                while (!shared->go) ::usleep(1000);
                shared->gone = true;
            });
        });
    }
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
    EXPECT_FALSE(shared->gone);
    shared->go = true;
    EXPECT_TRUE(eventually([&] { return shared->gone.load(); }));
}

TEST_P(shutdown_order, ask_E1_step_6_streams_outlive_their_runtime_and_so_do_threads_that_wait_for_them) {
    std::optional<tcp::listener> listener;
    std::optional<tcp::stream> here, there;
    std::thread reader;
    std::atomic<bool> got_it{false};
    {
        watched_runtime rt(GetParam());
        rt.run([&] {
            listener.emplace(net::endpoint{.host = "127.0.0.1", .port = 0});
            auto connecting = spawn([&] { return tcp::stream::connect(listener->local()); });
            here.emplace(listener->accept());
            there.emplace(connecting.join());
            EXPECT_THROW(with_timeout(2ms,
                                      [&] {  // now the driver watches it
                                          std::array<std::byte, 1> one;
                                          here->read_exact(one);
                                      }),
                         timeout_error);
        });
        reader = std::thread([&] {
            std::array<std::byte, 1> one;
            here->read_exact(one);  // through the driver, and then without
            got_it = true;
        });
        std::this_thread::sleep_for(2ms);
    }
    EXPECT_FALSE(got_it);
    there->write_all(std::string_view("x"));
    reader.join();
    EXPECT_TRUE(got_it);
}

TEST_P(shutdown_order, ask_E1_step_7_signal_handlers_are_as_they_were) {
    const int hog_signal = SIGRTMIN + 3;
    struct sigaction segv_before = {}, hog_before = {}, segv_after = {}, hog_after = {};
    ::sigaction(SIGSEGV, nullptr, &segv_before);
    ::sigaction(hog_signal, nullptr, &hog_before);
    { watched_runtime rt({.workers = GetParam(), .hog_signal = hog_signal}); }
    ::sigaction(SIGSEGV, nullptr, &segv_after);
    ::sigaction(hog_signal, nullptr, &hog_after);
    EXPECT_EQ(segv_after.sa_sigaction, segv_before.sa_sigaction);
    EXPECT_EQ(hog_after.sa_handler, hog_before.sa_handler);
}

}  // namespace
}  // namespace weft::test
