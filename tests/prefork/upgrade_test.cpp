// upgrade_test.cpp - a master that becomes another program: under load, with programs that fail, and with signals meanwhile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/under_sanitizer.hpp"
#include "prefork/handover.hpp"
#include "prefork/support/listening_socket.hpp"
#include "prefork/support/load.hpp"
#include "prefork/support/master_process.hpp"
#include "support/no_leaks.hpp"

using namespace std::chrono_literals;
using testing::HasSubstr;
namespace fs = std::filesystem;

namespace weft::test {
namespace {

/// A folder with a program in it, which can be exchanged, and files of words for it.
class place {
public:
    place() : folder_(fs::temp_directory_path() / ("weft-upgrade-" + std::to_string(::getpid()))) {
        fs::create_directories(folder_);
        use(WEFT_PREFORK_SUBJECT);
    }
    ~place() { fs::remove_all(folder_); }
    place(const place&) = delete;
    place& operator=(const place&) = delete;

    std::string file(const std::string& name) const { return folder_ / name; }
    std::string program() const { return file("app"); }
    void write(const std::string& name, const std::string& text) const {
        std::ofstream(file("new")) << text;
        fs::rename(file("new"), file(name));
    }
    void use(const std::string& program) const {
        fs::create_symlink(program, file("new"));
        fs::rename(file("new"), this->program());
    }
    /// The program is a shell script. A path for exec.
    void use_script(const std::string& text) const {
        write("script", "#!/bin/sh\n" + text + "\n");
        fs::permissions(file("script"), fs::perms::owner_all);
        use(file("script"));
    }

private:
    const fs::path folder_;
};

class prefork_upgrade_forks : public no_leaks {
protected:
    watched_runtime rt{2};
    place here;
};

TEST_F(prefork_upgrade_forks, WEFT_WORKERS_is_for_the_workers_and_stays_theirs) {
    rt.run([&] {
        master_process m({"WEFT_WORKERS=3", WEFT_PREFORK_SUBJECT, "serve", "1"}, "/usr/bin/env");
        const auto threads_of = [](int process, const std::string& runtime) {
            std::set<std::string> names;
            for (const auto& task : fs::directory_iterator("/proc/" + std::to_string(process) + "/task")) {
                std::string name;
                std::getline(std::ifstream(task.path() / "comm"), name);
                if (name.starts_with(runtime + "/") && std::isdigit(name.back())) names.insert(name);
            }
            return names;
        };
        m.port();
        const auto workers = children_of(m.id());
        ASSERT_EQ(workers.size(), 1u) << m.all();
        EXPECT_GE(threads_of(*workers.begin(), "weft").size(), 3u);
        EXPECT_EQ(threads_of(m.id(), "prefork").count("prefork/0"), 1u);
        EXPECT_LT(threads_of(m.id(), "prefork").size(), 3u);  // one, and perhaps a spare carrier
    });
}

TEST_F(prefork_upgrade_forks, under_load_refuses_nothing_and_loses_nothing) {
    here.write("processes", "2");
    rt.run([&] {
        master_process m({"serve", here.file("processes")}, here.program());
        const auto at = m.port();
        load l;
        with_scope([&](scope& s) {
            for (int i = 0; i < 8; ++i) s.spawn([&, i] { l.run(at, i); });
            for (unsigned g = 2; g <= 4; ++g) {
                here.write("processes", std::to_string(g));
                m.signal(SIGUSR2);
                ASSERT_NE(m.line_with("generation " + std::to_string(g) + " is ready, " + std::to_string(g) + " processes"), "")
                    << m.all();
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
        EXPECT_EQ(children_of(m.id()).size(), 4U);
        m.signal(SIGTERM);
        EXPECT_EQ(m.exit_code(), 0);
    });
}

TEST_F(prefork_upgrade_forks, the_check_fails_and_nothing_has_changed) {
    rt.run([&] {
        master_process m({"serve", "2"}, here.program());
        line_client kept(m.port());
        const auto first = kept.ask("x");
        ASSERT_TRUE(first) << m.all();
        const auto before = children_of(m.id());
        const auto [taken, taken_port] = listening_socket();
        ASSERT_NE(taken_port, 0);
        for (const auto& [script, why] : std::vector<std::pair<std::string, std::string>>{
                 {"exit 9", "failed: exit code 9"},
                 {"exit 0", "it has ended without weft::prefork::run()"},
                 // A port that the master does not have, and somebody else has.
                 {"exec " WEFT_PREFORK_SUBJECT " serve 2 drain " + std::to_string(taken_port), "failed: exit code 1"}}) {
            here.use_script(script);
            m.signal(SIGUSR2);
            EXPECT_NE(m.line_with("upgrade: the check of the new program " + why + "; nothing has changed"), "") << m.all();
        }
        ::close(taken);
        EXPECT_EQ(children_of(m.id()), before);
        const auto again = kept.ask("y");
        ASSERT_TRUE(again);
        EXPECT_EQ(again->process, first->process);
        EXPECT_FALSE(again->last);
        m.signal(SIGTERM);
        EXPECT_TRUE(kept.ask("z"));
        EXPECT_EQ(m.exit_code(), 0);
    });
}

TEST_F(prefork_upgrade_forks, exec_fails_and_nothing_has_changed) {
    rt.run([&] {
        master_process m({"serve", "2"}, here.program());
        const auto at = m.port();
        ASSERT_NE(at.port, 0) << m.all();
        const auto before = children_of(m.id());
        // The check passes, and takes the program away.
        here.use_script("rm '" + here.program() + "'; exec " WEFT_PREFORK_SUBJECT " \"$@\"");
        m.signal(SIGUSR2);
        EXPECT_THAT(m.line_with("upgrade: cannot run"), HasSubstr("No such file or directory; nothing has changed")) << m.all();
        EXPECT_EQ(children_of(m.id()), before);
        here.use(WEFT_PREFORK_SUBJECT);
        // Workers are started again, and signals are handled.
        const auto got = line_client(at).ask("x");
        ASSERT_TRUE(got);
        ::kill(got->process, SIGKILL);
        ASSERT_NE(m.line_with("killed: signal 9"), "") << m.all();
        EXPECT_TRUE(eventually_here([&] { return children_of(m.id()).size() == 2; })) << m.all();
        m.signal(SIGHUP);
        EXPECT_NE(m.line_with("generation 2 is ready"), "") << m.all();
        m.signal(SIGUSR2);
        EXPECT_NE(m.line_with("generation 3 is ready"), "") << m.all();
        m.signal(SIGTERM);
        EXPECT_EQ(m.exit_code(), 0);
    });
}

TEST_F(prefork_upgrade_forks, new_workers_that_do_not_get_ready_leave_the_adopted_ones_in_place) {
    here.write("behaviour", "serve");
    rt.run([&] {
        master_process m({here.file("behaviour"), "2"}, here.program());
        const auto at = m.port();
        line_client kept(at);
        const auto first = kept.ask("x");
        ASSERT_TRUE(first) << m.all();
        const auto before = children_of(m.id());
        here.write("behaviour", "crash");
        m.signal(SIGUSR2);
        EXPECT_THAT(m.line_with("generation 2 is given up"), HasSubstr("since it has not got ready; generation 1 goes on"))
            << m.all();
        ASSERT_NE(m.line_with("generation 2 has ended"), "") << m.all();
        EXPECT_EQ(children_of(m.id()), before);
        const auto again = kept.ask("y");
        ASSERT_TRUE(again);
        EXPECT_EQ(again->process, first->process);
        // An adopted one that ends is started again.
        here.write("behaviour", "serve");
        ::kill(first->process, SIGKILL);
        EXPECT_THAT(m.line_with("killed: signal 9"), HasSubstr("it is started again")) << m.all();
        EXPECT_TRUE(eventually_here([&] {
            const auto now = children_of(m.id());
            return now.size() == 2 && !now.contains(first->process);
        })) << m.all();
        EXPECT_EQ(line_client(at).ask("z")->generation, 1U);
        m.signal(SIGTERM);
        EXPECT_EQ(m.exit_code(), 0);
    });
}

TEST_F(prefork_upgrade_forks, lines_that_have_begun_are_passed_on) {
    rt.run([&] {
        master_process m({"halves", "1"}, here.program());
        line_client kept(m.port());
        ASSERT_TRUE(kept.ask("x")) << m.all();
        m.signal(SIGUSR2);
        ASSERT_NE(m.line_with("generation 2 is ready"), "") << m.all();
        EXPECT_TRUE(eventually_here([&] { return kept.ask("y")->last; }));
        EXPECT_NE(m.line_with("worker 1.1: first half, second half"), "") << m.all();
        m.signal(SIGTERM);
        EXPECT_EQ(m.exit_code(), 0);
    });
}

/// Ends a master that may be about to exec. ThreadSanitizer keeps a signal back until the thread calls
/// something, and an exec loses it, so another one may have to be sent.
int exit_code_after_sigterm(master_process& m) {
    for (;;) {
        m.signal(SIGTERM);
        if (!WEFT_UNDER_TSAN) return m.exit_code();
        try {
            return with_timeout(10s, [&] { return m.exit_code(); });
        } catch (const timeout_error&) {
            std::cout << "SIGTERM was lost\n";
        }
    }
}

#if !WEFT_UNDER_TSAN  // which loses them, see above
TEST_F(prefork_upgrade_forks, signals_meanwhile_are_not_lost) {
    const auto seed = std::random_device()();
    std::cout << "seed " << seed << '\n';
    std::mt19937 random(seed);
    rt.run([&] {
        for (int i = 0; i < 12; ++i) {
            master_process m({"serve", "1"}, here.program());
            ASSERT_NE(m.port().port, 0) << m.all();
            m.signal(SIGUSR2);
            ASSERT_NE(m.line_with("becomes the new program"), "") << m.all();
            this_fiber::sleep_for(std::chrono::microseconds(random() % 40'000));
            m.signal(SIGTERM);
            EXPECT_EQ(m.exit_code(), 0) << m.all();
        }
    });
}
#endif

TEST_F(prefork_upgrade_forks, workers_that_end_meanwhile_are_replaced) {
    const auto seed = std::random_device()();
    std::cout << "seed " << seed << '\n';
    std::mt19937 random(seed);
    rt.run([&] {
        master_process m({"serve", "3"}, here.program());
        const auto at = m.port();
        ASSERT_NE(at.port, 0) << m.all();
        for (unsigned g = 2; g <= 6; ++g) {
            m.signal(SIGUSR2);
            this_fiber::sleep_for(std::chrono::microseconds(random() % 60'000));
            const auto now = children_of(m.id());
            if (!now.empty()) ::kill(*std::next(now.begin(), static_cast<long>(random() % now.size())), SIGKILL);
            // The victim may be the check, or a worker that is not ready yet.
            EXPECT_TRUE(eventually_here([&] {
                try {
                    return children_of(m.id()).size() == 3 && line_client(at).ask("x");
                } catch (const std::system_error&) {
                    return false;
                }
            })) << m.all();
        }
        EXPECT_EQ(exit_code_after_sigterm(m), 0) << m.all();
    });
}

TEST(prefork_handover, is_read_as_it_was_written_and_refused_if_it_is_cut) {
    const prefork::handover h{
        .last_number = 7,
        .current = 6,
        .grace = 5s,
        .mark = 20,
        .life_reader = 21,
        .life_writer = 22,
        .ports = {{{"::1", 80}, 23}, {{"", 0}, 24}},
        .workers = {{.id = 101, .out = 25, .err = 26, .word = 27, .rest_of_out = "a b", .rest_of_err = "\n"}, {}},
        .lines = {"a line"}};
    const auto file = h.written();
    const auto again = prefork::handover::read(file.get(), ::getpid());
    EXPECT_EQ(again.last_number, 7U);
    EXPECT_EQ(again.current, 6U);
    EXPECT_EQ(again.grace, 5s);
    EXPECT_EQ(again.descriptors(), h.descriptors());
    EXPECT_EQ(again.ports[0].asked, h.ports[0].asked);
    EXPECT_EQ(again.lines, h.lines);
    ASSERT_EQ(again.workers.size(), 2U);
    EXPECT_EQ(again.workers[0].id, 101);
    EXPECT_EQ(again.workers[0].rest_of_err, "\n");
    EXPECT_THROW(prefork::handover::read(file.get(), ::getpid() + 1), std::runtime_error);

    std::string text(4096, '\0');
    text.resize(static_cast<std::size_t>(::pread(file.get(), text.data(), text.size(), 0)));
    for (std::size_t n = 0; n < text.size(); ++n) {
        const detail::owned_descriptor cut(::memfd_create("cut", MFD_CLOEXEC | MFD_ALLOW_SEALING));
        ASSERT_EQ(::write(cut.get(), text.data(), n), static_cast<ssize_t>(n));
        ASSERT_EQ(::fcntl(cut.get(), F_ADD_SEALS, F_SEAL_WRITE), 0);
        EXPECT_THROW(prefork::handover::read(cut.get(), ::getpid()), std::runtime_error) << n;
    }
}

}  // namespace
}  // namespace weft::test
