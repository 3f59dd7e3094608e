// idle_connections_test.cpp - what a server holds for each of very many idle connections, and that it still serves them.
//
// Its connections are in memory, since a process may have no million descriptors. By itself it takes
// 10,000 of them; `make million-idle` sets WEFT_IDLE_CONNECTIONS. It is a program of its own: what it
// measures would count what another test has left, and those of http count what they allocate.
#include <gtest/gtest.h>

#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include <weft/dump.hpp>
#include <weft/fiber.hpp>
#include <weft/http/server.hpp>
#include <weft/scope.hpp>

#include "crowd/wire.hpp"
#include "eventually.hpp"
#include "no_leaks.hpp"
#include "scale.hpp"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

/// Bytes that the process holds.
struct memory {
    long long resident, tables, allocated;

    static memory now() {
        return {.resident = status("VmRSS:"),
                .tables = status("VmPTE:"),
                .allocated = static_cast<long long>(::mallinfo2().uordblks)};
    }
    friend memory operator-(const memory& a, const memory& b) {
        return {.resident = a.resident - b.resident, .tables = a.tables - b.tables, .allocated = a.allocated - b.allocated};
    }

private:
    static long long status(const std::string& name) {
        std::ifstream lines("/proc/self/status");
        for (std::string line; std::getline(lines, line);)
            if (line.starts_with(name)) return std::stoll(line.substr(name.size())) * 1024;
        return 0;
    }
};

/// Some tens of descriptors are used for other things.
unsigned long long most_by_sockets() {
    rlimit limit{};
    constexpr rlim_t others = 50;
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_max < others) return 0;
    return limit.rlim_max - others;
}

void print_each(const char* what, const memory& m, std::size_t n) {
    const auto each = [&](long long bytes) { return static_cast<double>(bytes) / static_cast<double>(n); };
    std::printf("%-34s %8.1f B resident, %6.1f B of page tables, %8.1f B allocated\n", what, each(m.resident), each(m.tables),
                each(m.allocated));
}

class idle_connections : public no_leaks {
protected:
    idle_connections() {
        app.get("/users/{id}", [](const http::request& q) { return http::text(200, q.path("id")); });
    }

    static std::size_t asleep() {
        const auto all = take_snapshot(stacks::left_out);
        return all.runtimes.front().asleep.empty() ? 0 : all.runtimes.front().asleep.front().count;
    }

    /// Connects those wires, and waits until they and those before them hold no fiber.
    bool connect(std::span<wire> all, std::size_t before) {
        constexpr std::size_t at_once = 1000;
        for (std::size_t i = 0; i < all.size(); ++i) {
            port.send(&all[i]);
            const bool pauses = (i + 1) % at_once == 0 || i + 1 == all.size();
            if (pauses && !eventually_here([&] { return asleep() == before + i + 1; })) return false;
        }
        return true;
    }

    /// Asks the wire, and compares the answer.
    static void ask(wire& w, question& q, std::size_t id) {
        const auto name = std::to_string(id);
        q.request = "GET /users/" + name + " HTTP/1.1\r\nHost: memory\r\n\r\n";
        w.ask(q);
        while (!w.answer().ends_with("\r\n\r\n" + name)) ASSERT_TRUE(q.more.wait_for(20s)) << name << ": " << w.answer();
        EXPECT_TRUE(w.answer().starts_with("HTTP/1.1 200 ")) << w.answer();
    }

    channel<wire*> port;
    http::server app;
};

TEST_F(idle_connections, of_which_each_is_a_record_that_is_served_again_and_closed) {
    const char* const given = std::getenv("WEFT_IDLE_CONNECTIONS");
    const std::size_t count = given ? std::stoull(given) : static_cast<std::size_t>(scaled(10'000));
    const std::size_t first = count / 10, woken = std::min<std::size_t>(5000, count / 2);
    std::vector<wire> wires(count);
    std::deque<question> questions(woken);
    watched_runtime rt(1);
    rt.run([&] {
        app.listen(wire_listener(port), {.idle_timeout = no_limit, .cold_after = 1ms, .max_connections = count});
        auto serving = spawn([&] { app.serve(); });

        // 1. The fibers of the first tenth leave stacks and pages behind, which the others use again.
        ASSERT_TRUE(connect(std::span(wires).first(first), 0));
        const auto with_first = memory::now();
        const auto began = steady::now();
        ASSERT_TRUE(connect(std::span(wires).subspan(first), first));
        const auto took = steady::now() - began;
        const auto held = memory::now() - with_first;
        EXPECT_TRUE(eventually_here([&] { return rt.stats().fibers == 3; }))
            << "this one, serve(), and the one that minds the connections";
        std::printf("the hard limit of descriptors allows %llu connections through sockets, in two processes\n",
                    most_by_sockets());
        std::printf("%zu idle connections in memory, connected at %.1f us each\n", count,
                    std::chrono::duration<double, std::micro>(took).count() / static_cast<double>(count - first));
        print_each("each, without its wire:", held, count - first);
        std::printf("%-34s %8.1f B\n", "resident and page tables:",
                    static_cast<double>(held.resident + held.tables) / static_cast<double>(count - first));
        std::printf("%-34s %8zu B\n", "a wire, which belongs to the test:", sizeof(wire));
        if (!sanitized) {  // their allocators do not count
            EXPECT_LE(held.allocated / static_cast<long long>(count - first), 352) << "an idle connection has grown";
        }

        // 2. Some are asked, all over the crowd, and sleep again.
        const auto stride = count / woken;
        const auto before_questions = steady::now();
        with_scope([&](scope& clients) {
            constexpr std::size_t clients_at_once = 50;
            for (std::size_t c = 0; c < clients_at_once; ++c)
                clients.spawn([&, c] {
                    for (auto i = c; i < woken; i += clients_at_once) ask(wires[i * stride], questions[i], i);
                });
        });
        std::printf("%zu of them asked and answered in %.2f s\n", woken,
                    std::chrono::duration<double>(steady::now() - before_questions).count());
        EXPECT_TRUE(eventually_here([&] { return asleep() == count; }));
        questions.clear();  // the server writes no more into them
        print_each("each, after that:", memory::now() - with_first, count - first);

        // 3. A half leaves, and the server ends with the others.
        for (std::size_t i = 0; i < count; i += 2) wires[i].hang_up();
        EXPECT_TRUE(eventually_here([&] { return asleep() == count / 2; }));
        app.stop(20s);
        serving.join();
        EXPECT_EQ(std::count_if(wires.begin(), wires.end(), [](wire& w) { return !w.closed_by_server(); }), 0);
        EXPECT_TRUE(take_snapshot(stacks::left_out).runtimes.front().asleep.empty());
        EXPECT_TRUE(eventually_here([&] { return rt.stats().fibers == 1; }));
        ::malloc_trim(0);
        const auto left = memory::now() - with_first;
        print_each("left of each:", left, count - first);
        if (!sanitized) {
            EXPECT_LT(left.allocated, 0) << "what the first tenth held is given back, too";
        }
    });
}

}  // namespace
}  // namespace weft::test
