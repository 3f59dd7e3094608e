// hiredis_test.cpp - hiredis, as it is, in fibers; with a redis-server of the test's own.
#include <sys/resource.h>

#include "clients/support/contract.hpp"
#include "clients/support/hiredis_client.hpp"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

INSTANTIATE_TYPED_TEST_SUITE_P(hiredis, clients, hiredis_client);

/// Enough descriptors for a thousand connections, for as long as this lives.
class many_descriptors {
public:
    many_descriptors() {
        ::getrlimit(RLIMIT_NOFILE, &before_);
        rlimit more = before_;
        more.rlim_cur = more.rlim_max;
        ::setrlimit(RLIMIT_NOFILE, &more);
    }
    ~many_descriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

private:
    rlimit before_{};
};

using hiredis = clients<hiredis_client>;

// Without hooks each has a thread. The identities of all are kept, since the end of one blocks.
TEST_F(hiredis, a_thousand_fibers_wait_at_once_timing) {
    const many_descriptors plenty;
    const hiredis_client::server server;
    constexpr int waiters = 1000;
    double best = 1e9;
    unsigned carriers = ~0u;
    for (int tries = 0; tries < 3 && (best >= 2.3 || carriers > 4); ++tries) {
        watched_runtime rt({.workers = 2, .on_hog = [](const hog_report&) {}, .keep_identities = waiters, .hooks = true});
        latch connected(waiters), go(1);
        auto fibers = in_fibers(
            rt,
            [&](int) {
                hiredis_client::connection c(server);
                connected.count_down();
                go.wait();
                EXPECT_EQ(c.ask({"BLPOP", "nothing", "2"}), "");
            },
            waiters);
        connected.wait();
        const auto begun = std::chrono::steady_clock::now();
        go.count_down();
        join(fibers);
        const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
        EXPECT_GE(took, 1.9) << "each has waited";
        std::printf("%.3f s, %u carriers\n", took, rt.stats().carriers);
        best = std::min(best, took);
        carriers = std::min(carriers, rt.stats().carriers);
    }
    EXPECT_LT(best, 2.3);
    EXPECT_LE(carriers, 4u);
}

#ifdef WEFT_CLIENTS_EXAMPLE
TEST(hiredis_example, asks_the_server) {
    const hiredis_client::server server;
    expect_example_to_ask(server.url());
}
#endif

}  // namespace
}  // namespace weft::test
