// hiredis_test.cpp - hiredis, as it is, in fibers; with a redis-server of the test's own.
#include <hiredis/hiredis.h>
#include <sys/resource.h>

#include <cstring>
#include <memory>

#include "clients/support/contract.hpp"
#include "redis/support/redis_server.hpp"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

struct hiredis_client {
    static constexpr const char* library = "libhiredis";

    struct server : redis_server {
        server() : redis_server({"--maxclients", "5000", "--timeout", "0"}) {}
    };

    class connection {
    public:
        explicit connection(const server& to) : context_(redisConnect("127.0.0.1", to.port()), redisFree) {
            if (!context_) throw call_failed("no memory");
            if (context_->err) throw call_failed(context_->errstr);
        }
        std::string echo(long number, std::string_view text) {
            return ask({"ECHO", std::to_string(number) + ' ' + std::string(text)});
        }
        std::string refusal(long number) { return ask({"NONSENSE_" + std::to_string(number)}); }
        void wait_long() { ask({"BLPOP", "nothing", "60"}); }

        /// \returns the text of an answer or of a refusal; "" for an answer without text.
        std::string ask(const std::vector<std::string>& words) {
            std::vector<const char*> pointers;
            std::vector<std::size_t> lengths;
            for (const auto& word : words) pointers.push_back(word.data()), lengths.push_back(word.size());
            const std::unique_ptr<void, void (*)(void*)> answer(
                redisCommandArgv(context_.get(), static_cast<int>(words.size()), pointers.data(), lengths.data()),
                freeReplyObject);
            if (!answer) throw call_failed(context_->errstr);
            const auto* const reply = static_cast<const redisReply*>(answer.get());
            return reply->str ? std::string(reply->str, reply->len) : std::string();
        }

    private:
        std::unique_ptr<redisContext, void (*)(redisContext*)> context_;
    };

    static std::string refusal_of(long number) { return "unknown command 'NONSENSE_" + std::to_string(number) + "'"; }
    static std::string interruption(int error) { return std::strerror(error); }
};

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
