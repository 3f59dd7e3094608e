// unix_test.cpp - masters whose workers share a Unix socket, and the path of it: who removes it, and when.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <string>

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
        EXPECT_NE(
            m.line_with("listener 0 is at " + to_string(at) + ", a Unix socket: take it by unix_listener() or any_listener()"),
            "")
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

TEST_F(prefork_unix_forks, the_handover_has_another_form_only_if_a_path_goes_with_it) {
    const auto form_of = [](const prefork::handover& h) {
        const auto file = h.written();
        std::string text(64, '\0');
        text.resize(static_cast<std::size_t>(::pread(file.get(), text.data(), text.size(), 0)));
        const auto again = prefork::handover::read(file.get(), ::getpid());
        EXPECT_EQ(again.ports.size(), h.ports.size());
        for (std::size_t i = 0; i < h.ports.size(); ++i) {
            EXPECT_EQ(again.ports[i].asked, h.ports[i].asked);
            EXPECT_EQ(again.ports[i].descriptor, h.ports[i].descriptor);
            EXPECT_EQ(again.ports[i].file, h.ports[i].file);
        }
        return text;
    };
    EXPECT_THAT(form_of({.ports = {{{"::1", 80}, 23}, {{"unix:@x", 0}, 24}}}), HasSubstr("weft-prefork-handover-1 "));
    constexpr auto largest = ~std::uint64_t{0};
    EXPECT_THAT(form_of({.ports = {{{"::1", 80}, 23}, {{"unix:/x", 0}, 24, {.device = largest, .inode = largest}}}}),
                HasSubstr("weft-prefork-handover-2 "));
}

}  // namespace
}  // namespace weft::test
