// unix_test.cpp - masters whose workers share a Unix socket, and the path of it: who removes it, and when.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <weft/prefork.hpp>

#include "prefork/handover.hpp"
#include "prefork/support/load.hpp"
#include "prefork/support/master_process.hpp"
#include "support/no_leaks.hpp"

using namespace std::chrono_literals;
using testing::HasSubstr;
namespace fs = std::filesystem;

namespace weft::test {
namespace {

class prefork_unix_forks : public no_leaks {
protected:
    prefork_unix_forks() { fs::create_directories(folder); }
    ~prefork_unix_forks() override { fs::remove_all(folder); }

    std::vector<std::string> words(const std::string& how = "serve") const { return {how, "2", "drain", to_string(at)}; }

    watched_runtime rt{2};
    const fs::path folder = fs::temp_directory_path() / ("weft-prefork-unix-" + std::to_string(::getpid()));
    const fs::path path = folder / "s";
    const net::endpoint at{.host = "unix:" + path.string()};
};

TEST_F(prefork_unix_forks, reloads_and_upgrades_under_load_refuse_nothing_and_the_path_goes_with_the_last_master) {
    rt.run([&] {
        master_process m(words());
        ASSERT_THAT(m.line_with("port 0 at "), HasSubstr(to_string(at))) << m.all();
        load l;
        with_scope([&](scope& s) {
            for (int i = 0; i < 4; ++i) s.spawn([&, i] { l.run(at, i); });
            unsigned g = 1;
            for (const int how : {SIGHUP, SIGUSR2, SIGUSR2, SIGHUP}) {
                m.signal(how);
                ASSERT_NE(m.line_with("generation " + std::to_string(++g) + " is ready"), "") << m.all();
                ASSERT_NE(m.line_with("generation " + std::to_string(g - 1) + " has ended"), "") << m.all();
            }
            EXPECT_TRUE(eventually_here([&] {
                const std::lock_guard guard(l.lock);
                return l.generations.contains(5);
            }));
            l.over = true;
        });
        EXPECT_EQ(l.refused, 0);
        EXPECT_EQ(l.wrong, 0);
        EXPECT_EQ(l.cut_off, 0);
        EXPECT_TRUE(fs::is_socket(path));
        m.signal(SIGTERM);
        EXPECT_EQ(m.exit_code(), 0) << m.all();
        EXPECT_FALSE(fs::exists(path)) << "although another program of this process has made it";
    });
}

TEST_F(prefork_unix_forks, while_the_master_stops_the_path_is_gone_and_what_was_connected_is_answered) {
    rt.run([&] {
        master_process m(words());
        ASSERT_NE(m.line_with("port 0"), "") << m.all();
        line_client kept(at);
        ASSERT_TRUE(kept.ask("x"));
        m.signal(SIGTERM);
        EXPECT_TRUE(eventually_here([&] { return !fs::exists(path); }));
        EXPECT_TRUE(is_alive(m.id())) << "it waits for the client that was there before";
        const auto last = kept.ask("y");
        ASSERT_TRUE(last);
        EXPECT_TRUE(last->last);
        EXPECT_EQ(m.exit_code(), 0);
        EXPECT_EQ(m.all().find("failed"), std::string::npos) << m.all();
    });
}

TEST_F(prefork_unix_forks, a_path_that_another_server_has_taken_meanwhile_is_left_alone) {
    rt.run([&] {
        for (const bool upgraded : {false, true}) {
            master_process m(words());
            ASSERT_NE(m.line_with("port 0"), "") << m.all();
            if (upgraded) {
                m.signal(SIGUSR2);
                ASSERT_NE(m.line_with("generation 1 has ended"), "") << m.all();
            }
            fs::rename(path, folder / "kept");  // so that the new file gets another inode
            const unix_socket::listener other({.path = path});
            m.signal(SIGTERM);
            EXPECT_EQ(m.exit_code(), 0) << m.all();
            EXPECT_TRUE(fs::is_socket(path)) << upgraded;
            fs::remove(folder / "kept");
        }
    });
}

TEST_F(prefork_unix_forks, the_path_that_a_killed_master_has_left_is_used_again) {
    rt.run([&] {
        {
            master_process m(words());
            ASSERT_NE(m.line_with("port 0"), "") << m.all();
            m.signal_group(SIGKILL);
            m.exit_code();
            m.await_silence();
        }
        EXPECT_TRUE(fs::is_socket(path));
        master_process m(words());
        ASSERT_NE(m.line_with("port 0"), "") << m.all();
        EXPECT_TRUE(line_client(at).ask("x"));
        master_process second(words());
        EXPECT_NE(second.line_with("listen on " + to_string(at)), "") << second.all();
        EXPECT_NE(second.exit_code(), 0);
        EXPECT_TRUE(line_client(at).ask("x")) << "the second has not touched the path of the first";
        m.signal(SIGTERM);
        EXPECT_EQ(m.exit_code(), 0);
    });
}

TEST_F(prefork_unix_forks, a_socket_of_a_supervisor_of_services_is_used_and_its_path_stays) {
    rt.run([&] {
        unix_socket::listener service({.path = path});
        const int socket = ::fcntl(service.native_handle(), F_DUPFD_CLOEXEC, 0);
        line_client early(at);  // waits in the queue
        master_process m(
            {"-c", "LISTEN_PID=$$ LISTEN_FDS=1 exec \"$0\" serve 2 drain \"$1\"", WEFT_PREFORK_SUBJECT, to_string(at)}, "/bin/sh",
            {socket});
        ::close(socket);
        EXPECT_TRUE(early.ask("x")) << m.all();
        early.stream().close();
        m.signal(SIGUSR2);
        ASSERT_NE(m.line_with("generation 1 has ended"), "") << m.all();
        EXPECT_EQ(line_client(at).ask("y")->generation, 2u);
        m.signal(SIGTERM);
        EXPECT_EQ(m.exit_code(), 0);
        EXPECT_TRUE(fs::is_socket(path));
    });
}

TEST_F(prefork_unix_forks, a_worker_takes_its_port_as_what_it_is) {
    rt.run([&] {
        master_process m({"kinds", "1", "drain", to_string(at)});
        EXPECT_NE(m.line_with("listener 0 is a Unix socket: unix_listener(), any_listener() and descriptor() take it"), "")
            << m.all();
        EXPECT_NE(m.line_with(to_string(at) + " was taken"), "") << m.all();
        EXPECT_NE(m.line_with("listener 0 was taken before"), "") << m.all();
    });
}

TEST_F(prefork_unix_forks, an_abstract_name_has_no_path) {
    rt.run([&] {
        const net::endpoint name{.host = "unix:@weft-prefork-" + std::to_string(::getpid())};
        master_process m({"serve", "2", "drain", to_string(name)});
        ASSERT_NE(m.line_with("port 0"), "") << m.all();
        EXPECT_TRUE(line_client(name).ask("x"));
        m.signal(SIGUSR2);
        ASSERT_NE(m.line_with("generation 1 has ended"), "") << m.all();
        EXPECT_TRUE(line_client(name).ask("x"));
        m.signal(SIGTERM);
        EXPECT_EQ(m.exit_code(), 0);
    });
}

TEST_F(prefork_unix_forks, what_waits_half_a_second_after_the_signal_is_refused) {
    rt.run([&] {
        for (const bool is_unix : {true, false}) {
            auto how = words("stubborn");
            if (!is_unix) how.back() = "0";
            master_process m(how);
            ASSERT_NE(m.line_with("port "), "") << m.all();
            line_client waits(is_unix ? at : m.port());
            m.signal(SIGTERM);
            EXPECT_FALSE(waits.ask("x"));
            EXPECT_TRUE(is_alive(m.id())) << "its workers do not end";
            m.signal(SIGTERM);
            EXPECT_EQ(m.exit_code(), 0);
        }
    });
}

TEST_F(prefork_unix_forks, a_socket_of_a_supervisor_of_services_outlives_a_stop_that_takes_long) {
    rt.run([&] {
        unix_socket::listener by_path({.path = path});
        tcp::listener by_number({.host = "127.0.0.1", .port = 0});
        for (const bool is_unix : {true, false}) {
            const int socket = ::fcntl(is_unix ? by_path.native_handle() : by_number.native_handle(), F_DUPFD_CLOEXEC, 0);
            const auto where = is_unix ? at : by_number.local();
            const std::vector<std::string> how{"-c", "LISTEN_PID=$$ LISTEN_FDS=1 exec \"$0\" serve 1 drain \"$1\"",
                                               WEFT_PREFORK_SUBJECT, is_unix ? to_string(at) : std::to_string(where.port)};
            std::optional<line_client> late;
            for (int life = 0; life < 3; ++life) {
                master_process m(how, "/bin/sh", {socket});
                ASSERT_NE(m.line_with("port "), "") << m.all();
                if (late) {
                    EXPECT_TRUE(late->ask("late")) << "it has waited for this life";
                }
                line_client kept(where);
                ASSERT_TRUE(kept.ask("x"));
                late.reset();
                if (life == 1) {
                    m.signal(SIGUSR2);  // the next program knows, too
                    kept.stream().close();
                    ASSERT_NE(m.line_with("generation 1 has ended"), "") << m.all();
                }
                line_client last(where);
                ASSERT_TRUE(last.ask("x"));
                m.signal(SIGTERM);
                this_fiber::sleep_for(700ms);  // ports of its own would be closed by now
                late.emplace(where);
                last.stream().close();
                kept.stream().close();
                EXPECT_EQ(m.exit_code(), 0);
            }
            ::close(socket);
        }
    });
}

TEST_F(prefork_unix_forks, a_signal_during_the_start_leaves_no_path) {
    rt.run([&] {
        for (int i = 0; i < 12; ++i) {
            master_process m(words());
            this_fiber::sleep_for(i * 3ms);
            m.signal(SIGTERM);
            m.exit_code();
            EXPECT_FALSE(fs::exists(path)) << m.all();
        }
    });
}

TEST(prefork_handover, says_whose_a_socket_is_behind_what_older_programs_read) {
    const auto text_of = [](const prefork::handover& h) {
        const auto file = h.written();
        std::string text(4096, '\0');
        text.resize(static_cast<std::size_t>(::pread(file.get(), text.data(), text.size(), 0)));
        const auto again = prefork::handover::read(file.get(), ::getpid());
        EXPECT_EQ(again.ports.size(), h.ports.size());
        for (std::size_t i = 0; i < h.ports.size(); ++i) {
            EXPECT_EQ(again.ports[i].asked, h.ports[i].asked);
            EXPECT_EQ(again.ports[i].descriptor, h.ports[i].descriptor);
            EXPECT_EQ(again.ports[i].whose, h.ports[i].whose);
            EXPECT_EQ(again.ports[i].file, h.ports[i].file);
        }
        return text;
    };
    prefork::handover h{.ports = {{{"::1", 80}, 23}, {{"unix:@x", 0}, 24}}, .lines = {"a"}};
    const auto before = text_of(h);
    h.ports[1].file = {.device = ~dev_t{0}, .inode = ~ino_t{0}};
    EXPECT_TRUE(text_of(h).starts_with(before));
    h.ports[0].whose = prefork::opened_by::supervisor;
    EXPECT_TRUE(text_of(h).starts_with(before));
}

}  // namespace
}  // namespace weft::test
