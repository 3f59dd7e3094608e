// service_test.cpp - the users service with stores that use client libraries which block, as they are.
//
// The handlers and the stores are straight lines, as for any other store; the server runs the handlers as
// threads.
#include <weft/http/server.hpp>
#include <weft/ivar.hpp>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "clients/support/client_runtime.hpp"
#include "clients/support/hiredis_client.hpp"
#include "clients/support/libmariadb_client.hpp"
#include "clients/support/libpq_client.hpp"
#include "service/support/http_call.hpp"
#include "stores.hpp"
#include "support/eventually.hpp"
#include "support/no_leaks.hpp"
#include "users.hpp"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

// Where the store is, for each kind.

struct hiredis_kind {
    using server = hiredis_client::server;
    static std::string url(const server& at) { return "hiredis://127.0.0.1:" + std::to_string(at.port()); }
};

struct libpq_kind {
    using server = libpq_client::server;
    static std::string url(const server& at) { return at.url(); }
};

struct libmariadb_kind {
    using server = libmariadb_client::server;
    static std::string url(const server& at) { return at.url(); }
};

/// Another users service, which has a database that this test may kill.
struct libcurl_kind {
    class server {
    public:
        server() { start(); }
        void start() {
            up_.emplace();
            ivar<http::server*> listens;
            up_->service = up_->rt.spawn([&, this] {
                http::server app;
                const auto data = users::open_store(database_.url());
                users::users_service routes(app, *data);
                app.listen({.host = "127.0.0.1", .port = port_});
                listens.set(&app);
                app.serve();
            });
            up_->app = listens.get();
        }
        void kill() {
            up_->app->stop(0s);
            up_->service.join();
            up_.reset();
        }
        ~server() { kill(); }
        std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

    private:
        struct instance {
            runtime rt{{.workers = 1}};
            http::server* app = nullptr;
            fiber<> service;
        };
        const redis_server database_;
        const std::uint16_t port_ = free_port();
        std::optional<instance> up_;
    };
    static std::string url(const server& at) { return at.url(); }
};

template <class Kind>
class service_by_clients : public testing::Test {
protected:
    /// Runs body(rt, port), on this plain thread, while the service is up in the runtime.
    template <class F>
    void with_service(F body) {
        watched_runtime rt(client_runtime());
        ivar<http::server*> up;
        auto service = rt.spawn({.as_thread = true}, [&] {
            http::server app;
            const auto data = clients::open_store(Kind::url(server_), 10);
            users::users_service routes(app, *data);
            app.listen({.host = "127.0.0.1", .port = 0}, {.as_threads = true});
            up.set(&app);
            app.serve();
        });
        http::server& app = *up.get();
        body(rt, app.local().port);
        app.stop(10s);
        service.join();
    }

    const watchdog watchdog_{110s};
    typename Kind::server server_;
};
using kinds = testing::Types<hiredis_kind, libpq_kind, libmariadb_kind, libcurl_kind>;
TYPED_TEST_SUITE(service_by_clients, kinds, );

TYPED_TEST(service_by_clients, seed_N1_N2_N7_answers_as_with_any_store) {
    this->with_service([](runtime&, std::uint16_t port) {
        EXPECT_EQ(http_call(port, "GET", "/users/1").status, 404);
        EXPECT_EQ(http_call(port, "POST", "/users", R"({"id":"1","name":"O'Hara"})").status, 201);
        EXPECT_EQ(http_call(port, "GET", "/users/1").body, R"({"id":"1","name":"O'Hara"})");
        EXPECT_EQ(http_call(port, "DELETE", "/users/1").status, 204);
        EXPECT_EQ(http_call(port, "DELETE", "/users/1").status, 404);
    });
}

TYPED_TEST(service_by_clients, seed_N7_many_requests_wait_at_the_same_time) {
    this->with_service([](runtime& rt, std::uint16_t port) {
        std::vector<fiber<>> all;
        for (int i = 0; i < 50; ++i)
            all.push_back(rt.spawn([=] {
                http_connection c(port);
                const std::string id = std::to_string(i);
                for (int round = 0; round < 10; ++round) {
                    const std::string json = R"({"id":")" + id + R"(","name":"name )" + std::to_string(round) + R"("})";
                    EXPECT_EQ(c.call("POST", "/users", json).status, 201);
                    EXPECT_EQ(c.call("GET", "/users/" + id).body, json);
                }
                EXPECT_EQ(c.call("DELETE", "/users/" + id).status, 204);
            }));
        for (auto& each : all) each.join();
    });
}

TYPED_TEST(service_by_clients, seed_N1_a_database_that_fails_is_an_answer_and_no_more) {
    this->with_service([&](runtime&, std::uint16_t port) {
        EXPECT_EQ(http_call(port, "POST", "/users", R"({"id":"1","name":"Ann"})").status, 201);
        this->server_.kill();
        // The process that serves a connection of PostgreSQL outlives the one that was killed for a moment.
        EXPECT_TRUE(eventually([&] { return http_call(port, "GET", "/users/1").status == 500; }));
        for (int i = 0; i < 2; ++i) EXPECT_EQ(http_call(port, "GET", "/users/1").status, 500);
        this->server_.start();
        EXPECT_EQ(http_call(port, "GET", "/users/2").status, 404) << "by a new connection";
    });
}

#ifdef WEFT_CLIENTS_EXAMPLE
TYPED_TEST(service_by_clients, seed_N1_N7_the_example_serves) {
    const working_folder folder(run_as::the_same_user);
    const std::uint16_t port = free_port();
    server_process example({WEFT_CLIENTS_EXAMPLE, "serve", "--listen", "127.0.0.1:" + std::to_string(port), "--store",
                            TypeParam::url(this->server_), "--workers", "1", "--connections", "5"},
                           folder / "log");
    example.start([&] {
        try {
            return http_call(port, "GET", "/healthz").status == 200;
        } catch (const std::exception&) {
            return false;
        }
    });
    EXPECT_EQ(http_call(port, "POST", "/users", R"({"id":"a/b","name":"Ann"})").status, 201);
    EXPECT_EQ(http_call(port, "GET", "/users/a%2Fb").body, R"({"id":"a/b","name":"Ann"})");
    EXPECT_EQ(http_call(port, "DELETE", "/users/a%2Fb").status, 204);
    EXPECT_EQ(http_call(port, "GET", "/users/a%2Fb").status, 404);
}

TEST(clients_example, wrong_words_are_one_line_and_exit_code_2) {
    const working_folder folder(run_as::the_same_user);
    const std::vector<std::vector<std::string>> all = {{"serve", "--store", "users.db"},
                                                       {"serve", "--store", "mysql://127.0.0.1"},
                                                       {"serve", "--store", "hiredis://127.0.0.1:no"},
                                                       {"serve", "--listen", "nowhere"},
                                                       {"serve", "--connections", "0"},
                                                       {}};
    for (const auto& words : all) {
        std::vector<std::string> command{WEFT_CLIENTS_EXAMPLE};
        command.insert(command.end(), words.begin(), words.end());
        const std::string log = folder / "log";
        std::filesystem::remove(log);
        try {
            run_program(command, log);
            ADD_FAILURE() << "not refused: " << testing::PrintToString(words);
        } catch (const std::runtime_error& why) {
            const std::string said = why.what();
            EXPECT_NE(said.find("has ended with 2:\nclients: "), std::string::npos) << said;
            EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 2) << said;
        }
    }
}
#endif

}  // namespace
}  // namespace weft::test
