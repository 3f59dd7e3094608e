// resolver_test.cpp - what is remembered and for how long, and who looks a name up that many ask for at once.
#include <weft/net/resolver.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <iostream>
#include <stdexcept>

#include <weft/explore.hpp>
#include <weft/net/resolve.hpp>
#include <weft/net/tcp.hpp>
#include <weft/weft.hpp>

#include "eventually.hpp"
#include "io/blocking_calls.hpp"
#include "io/blocking_pool.hpp"
#include "no_leaks.hpp"
#include "random.hpp"
#include "scale.hpp"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using net::endpoint;

/// A name service whose answers count up: 10.0.0.1, 10.0.0.2, ...
struct counting_names {
    std::vector<endpoint> operator()(const std::string& host) const {
        const int n = ++*asked;
        if (delay > 0ns) this_fiber::sleep_for(delay);
        if (host == "none") throw std::system_error(std::make_error_code(std::errc::address_not_available));
        if (host == "odd") throw std::runtime_error("odd");
        if (host == "empty") return {};
        return {{.host = "10.0.0." + std::to_string(n % 250), .port = 99}};
    }
    std::shared_ptr<std::atomic<int>> asked = std::make_shared<std::atomic<int>>(0);
    std::chrono::nanoseconds delay{0};
};

class resolver : public on_workers {
protected:
    watched_runtime rt{GetParam()};
};

TEST_P(resolver, remembers_addresses_whatever_the_port_and_the_case) {
    rt.run([] {
        const counting_names names;
        net::resolver r({.look_up = names});
        EXPECT_EQ(r.resolve("a", 80), (std::vector<endpoint>{{.host = "10.0.0.1", .port = 80}}));
        EXPECT_EQ(r.resolve("A", 81), (std::vector<endpoint>{{.host = "10.0.0.1", .port = 81}}));
        EXPECT_EQ(r.resolve("b", 1).front().host, "10.0.0.2");
        r.forget("A");
        EXPECT_EQ(r.resolve("a", 1).front().host, "10.0.0.3");
        r.clear();
        EXPECT_EQ(r.resolve("b", 1).front().host, "10.0.0.4");
        EXPECT_EQ(r.resolve("10.1.1.1", 7).front().host, "10.1.1.1");  // no name
        EXPECT_EQ(r.resolve("::1", 7).front().host, "::1");
        EXPECT_EQ(r.resolve("", 7).size(), 2u);
        EXPECT_EQ(*names.asked, 4);
    });
}

TEST_P(resolver, reports_what_net_resolve_reports) {
    rt.run([] {
        const counting_names names;
        net::resolver r({.failure_life = 1h, .look_up = names});
        std::error_code error;
        EXPECT_TRUE(r.resolve("none", 1, error).empty());
        EXPECT_EQ(error, std::errc::address_not_available);
        EXPECT_THROW(static_cast<void>(r.resolve("none", 1)), std::system_error);
        EXPECT_EQ(*names.asked, 1);
        EXPECT_THROW(static_cast<void>(r.resolve("empty", 1)), std::system_error);
        EXPECT_THROW(static_cast<void>(r.resolve("odd", 1)), std::runtime_error);
        EXPECT_THROW(static_cast<void>(r.resolve("odd", 1)), std::runtime_error);
        EXPECT_EQ(*names.asked, 4);  // only an answer is remembered
        EXPECT_TRUE(r.resolve("a b", 1, error).empty());
        EXPECT_EQ(error, std::errc::invalid_argument);
        EXPECT_THROW(static_cast<void>(r.resolve("unix:/x", 1)), std::system_error);
        EXPECT_EQ(r.resolve("a", 1, error).size(), 1u);
        EXPECT_FALSE(error);
    });
    EXPECT_THROW(net::resolver({.most = 0}), std::invalid_argument);
    EXPECT_THROW(net::resolver({.life = -1s}), std::invalid_argument);
}

TEST_P(resolver, looks_names_up_by_the_system_and_on_plain_threads) {
    net::resolver r;
    const auto check = [&] { EXPECT_EQ(r.resolve("127.1", 80), (std::vector<endpoint>{{.host = "127.0.0.1", .port = 80}})); };
    check();
    rt.run(check);
}

TEST(simulated_resolver, forgets_in_time) {
    explore(10, [] {
        const counting_names names;
        net::resolver r({.life = 10s, .failure_life = 2s, .look_up = names});
        const auto asked_for = [&](const char* host) {
            const int before = *names.asked;
            std::error_code ignored;
            static_cast<void>(r.resolve(host, 1, ignored));
            return *names.asked != before;
        };
        if (!asked_for("a") || !asked_for("none")) throw std::logic_error("not asked");
        this_fiber::sleep_for(1s);
        if (asked_for("a") || asked_for("none")) throw std::logic_error("forgotten too early");
        this_fiber::sleep_for(2s);
        if (asked_for("a") || !asked_for("none")) throw std::logic_error("the failure must be forgotten, and nothing else");
        this_fiber::sleep_for(8s);
        if (!asked_for("a")) throw std::logic_error("remembered for too long");
    });
}

TEST_P(resolver, forgets_the_one_whose_time_ends_first_when_it_is_full) {
    rt.run([] {
        const counting_names names;
        net::resolver r({.most = 2, .look_up = names});
        for (const char* host : {"a", "b", "c"}) static_cast<void>(r.resolve(host, 1));
        EXPECT_EQ(*names.asked, 3);
        static_cast<void>(r.resolve("b", 1));
        static_cast<void>(r.resolve("c", 1));
        EXPECT_EQ(*names.asked, 3);
        static_cast<void>(r.resolve("a", 1));
        EXPECT_EQ(*names.asked, 4);
    });
}

TEST_P(resolver, many_that_ask_at_once_share_one_look_up) {
    rt.run([] {
        const counting_names names{.delay = 5ms};
        net::resolver r({.look_up = names});
        with_scope([&](scope& s) {
            for (int i = 0; i < 100; ++i) s.spawn([&] { EXPECT_EQ(r.resolve("a", 1).front().host, "10.0.0.1"); });
        });
        EXPECT_EQ(*names.asked, 1);
    });
}

TEST_P(resolver, many_that_ask_at_once_share_what_the_look_up_throws) {
    rt.run([] {
        std::atomic<int> asked{0};
        net::resolver r({.look_up = [&](const std::string&) -> std::vector<endpoint> {
            ++asked;
            this_fiber::sleep_for(20ms);
            throw std::runtime_error("odd");
        }});
        with_scope([&](scope& s) {
            for (int i = 0; i < 50; ++i) s.spawn([&] { EXPECT_THROW(static_cast<void>(r.resolve("a", 1)), std::runtime_error); });
        });
        EXPECT_LT(asked, 5) << "a fiber that comes late asks anew";
    });
}

TEST_P(resolver, when_the_one_that_looks_up_is_stopped_another_begins_anew) {
    rt.run([] {
        const counting_names names{.delay = 20ms};
        net::resolver r({.look_up = names});
        auto first = spawn([&] { static_cast<void>(r.resolve("a", 1)); });
        while (*names.asked == 0) this_fiber::sleep_for(100us);
        auto others = spawn([&] {
            with_scope([&](scope& s) {
                for (int i = 0; i < 10; ++i) s.spawn([&] { EXPECT_EQ(r.resolve("a", 1).front().host, "10.0.0.2"); });
            });
        });
        this_fiber::sleep_for(1ms);
        first.request_stop();
        EXPECT_THROW(first.join(), fiber_cancelled);
        others.join();
        EXPECT_EQ(*names.asked, 2);
        r.clear();
        auto slow = spawn([&] { return r.resolve("a", 1); });
        while (*names.asked == 2) this_fiber::sleep_for(100us);
        std::error_code error;
        EXPECT_THROW(with_timeout(1ms, [&] { static_cast<void>(r.resolve("a", 1)); }), timeout_error);  // one that waits leaves
        EXPECT_EQ(slow.join().size(), 1u);
    });
}

/// Occupies all threads for look-ups. What is asked meanwhile waits for 100 ms at least (BLOCKING_POOL-5).
class busy_look_ups {
public:
    busy_look_ups() {
        for (int i = 0; i < 64; ++i) detail::blocking_detached_in(detail::pool_for::look_ups, [gate = gate_] { gate->wait(); });
    }
    ~busy_look_ups() { gate_->set(); }
    static std::size_t waiting() { return detail::current_blocking_pool(detail::pool_for::look_ups)->queued(); }

private:
    std::shared_ptr<event> gate_ = std::make_shared<event>();
};

TEST_P(resolver, the_systems_look_up_goes_on_without_its_caller) {
    rt.run([] {
        auto r = std::make_unique<net::resolver>();
        std::string host;
        for (int i = 1; i < 10 && host.empty(); ++i) {  // one is answered in time if this thread stands still for long
            const busy_look_ups full;
            std::error_code error;
            const auto name = "127." + std::to_string(i);
            auto stopped = spawn([&] {
                std::error_code why;
                static_cast<void>(r->resolve(name, 1, why));
                return why;
            });
            static_cast<void>(with_timeout(1ms, [&] { return r->resolve(name, 1, error); }));
            stopped.request_stop();
            if (stopped.join() == std::errc::operation_canceled && error == std::errc::timed_out) host = name;
            EXPECT_LE(full.waiting(), 1u);
        }
        ASSERT_FALSE(host.empty());
        EXPECT_EQ(r->resolve(host, 7).front(), (endpoint{.host = "127.0.0." + host.substr(4), .port = 7}));
        const busy_look_ups full;
        ASSERT_TRUE(eventually_here([&] { return full.waiting() == 0; }));
        std::atomic<bool> is_answered{false};
        auto again = spawn([&] {
            EXPECT_EQ(r->resolve(host, 8).front().port, 8);
            is_answered = true;
        });
        while (!is_answered) {
            EXPECT_EQ(full.waiting(), 0u) << "it is remembered, and not asked for";
            this_fiber::yield();
        }
        again.join();
        std::error_code left;
        static_cast<void>(with_timeout(1ms, [&] { return r->resolve("127.200", 1, left); }));
        r.reset();  // RESOLVER-4: the look-up goes on
    });
}

TEST_P(resolver, an_interrupted_look_up_tells_nothing_whatever_it_throws) {
    rt.run([] {
        std::atomic<int> asked{0};
        net::resolver r({.failure_life = 1h, .look_up = [&](const std::string&) -> std::vector<endpoint> {
                             if (++asked > 1) return {{.host = "10.0.0.1", .port = 0}};
                             try {
                                 this_fiber::sleep_for(10s);
                             } catch (const cancelled&) {}
                             throw std::system_error(std::make_error_code(std::errc::address_not_available));
                         }});
        std::error_code error;
        static_cast<void>(with_timeout(1ms, [&] { return r.resolve("a", 1, error); }));
        EXPECT_EQ(error, std::errc::timed_out);
        EXPECT_EQ(r.resolve("a", 1).size(), 1u);
    });
}

TEST_P(resolver, a_stop_of_connect_forgets_no_address_and_a_deadline_does) {
    rt.run([] {
        tcp::listener full({.host = "127.0.0.1", .port = 0}, {.backlog = 0});
        const auto first = tcp::stream::connect(full.local());  // the next ones are not answered
        std::atomic<int> asked{0};
        net::resolver r({.look_up = [&](const std::string&) -> std::vector<endpoint> {
            ++asked;
            return {{.host = "127.0.0.1", .port = 0}};
        }});
        const endpoint to{.host = "full", .port = full.local().port};
        auto stopped = spawn([&] {
            std::error_code error;
            tcp::stream::connect(to, {.resolver = &r}, error);
            return error;
        });
        while (asked == 0) this_fiber::yield();
        this_fiber::sleep_for(1ms);
        stopped.request_stop();
        EXPECT_EQ(stopped.join(), std::errc::operation_canceled);
        static_cast<void>(r.resolve("full", 1));
        EXPECT_EQ(asked, 1);
        std::error_code error;
        with_timeout(1ms, [&] { tcp::stream::connect(to, {.resolver = &r}, error); });
        EXPECT_EQ(error, std::errc::timed_out);
        static_cast<void>(r.resolve("full", 1));
        EXPECT_EQ(asked, 2);
    });
}

TEST_P(resolver, connect_looks_a_name_up_anew_after_its_addresses_have_failed) {
    rt.run([] {
        tcp::listener at({.host = "127.0.0.1", .port = 0});
        std::atomic<int> asked{0};
        net::resolver r({.look_up = [&](const std::string&) -> std::vector<endpoint> {
            return {{.host = ++asked == 1 ? "127.0.0.2" : "127.0.0.1", .port = 0}};
        }});
        const endpoint to{.host = "moving", .port = at.local().port};
        std::error_code error;
        EXPECT_FALSE(tcp::stream::connect(to, {.resolver = &r}, error).is_open());
        EXPECT_EQ(error, std::errc::connection_refused);
        EXPECT_TRUE(tcp::stream::connect(to, {.resolver = &r}).is_open());
        EXPECT_TRUE(tcp::stream::connect(to, {.resolver = &r}).is_open());
        EXPECT_EQ(asked, 2);
    });
}

TEST_P(resolver, storm) {
    const seed seed;
    const int rounds = scaled(3000);
    rt.run([&] {
        std::atomic<int> asked{0}, answered{0}, left{0};
        net::resolver r(
            {.life = 200us, .failure_life = 50us, .most = 3, .look_up = [&](const std::string& host) -> std::vector<endpoint> {
                 auto random = seed.of(static_cast<std::uint64_t>(++asked));
                 if (below(random, 2) == 0) this_fiber::sleep_for(up_to(random, 200us));
                 if (below(random, 8) == 0) throw std::system_error(std::make_error_code(std::errc::address_not_available));
                 return {{.host = "10.0.0." + host, .port = 0}};
             }});
        with_scope([&](scope& s) {
            for (unsigned f = 0; f < 10; ++f)
                s.spawn([&, f] {
                    auto random = seed.of(1000000 + f);
                    for (int i = 0; i < rounds / 10; ++i) {
                        const auto host = std::to_string(below(random, 5));
                        const auto name = "n" + host;
                        std::error_code error;
                        const auto limit = below(random, 3) == 0 ? up_to(random, 100us) : std::chrono::nanoseconds(5s);
                        const auto found = with_timeout(limit, [&] { return r.resolve(name, 7, error); });
                        if (error == std::errc::timed_out)
                            ++left;
                        else if (++answered; !error) {
                            EXPECT_EQ(found, (std::vector<endpoint>{{.host = "10.0.0." + name, .port = 7}}));
                        }
                        if (below(random, 20) == 0) r.forget(name);
                    }
                });
        });
        std::cout << answered << " answered by " << asked << " look-ups, " << left << " left\n";
        EXPECT_GT(answered, 0);
    });
}

WEFT_ON_1_2_4_8_WORKERS(resolver);

}  // namespace
}  // namespace weft::test
