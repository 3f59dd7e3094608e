// service_test.cpp - the users service with stores that use client libraries which block, as they are.
//
// The handlers and the stores are straight lines, as for any other store; the server runs the handlers as
// threads.
#include <weft/http/server.hpp>
#include <weft/ivar.hpp>
#include <weft/pool.hpp>

#include "clients/support/client_runtime.hpp"
#include "clients/support/hiredis_client.hpp"
#include "clients/support/libmariadb_client.hpp"
#include "clients/support/libpq_client.hpp"
#include "service/support/http_call.hpp"
#include "support/eventually.hpp"
#include "support/no_leaks.hpp"
#include "users.hpp"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using users::user;

/// The connections of a store: ten at most, and none that a call has failed on.
template <class Client>
class connections {
public:
    using connection = typename Client::connection;

    explicit connections(const typename Client::server& to)
        : pool_([&to] { return std::make_unique<connection>(to); }, {.limit = 10}) {}

    template <class F>
    auto with_one(F f) {
        auto c = pool_.acquire();
        try {
            return f(**c);
        } catch (...) {
            c.discard();
            throw;
        }
    }

private:
    pool<std::unique_ptr<connection>> pool_;
};

class hiredis_store final : public users::store {
public:
    using server = hiredis_client::server;
    using connection = hiredis_client::connection;

    explicit hiredis_store(const server& to) : all_(to) {}

    std::optional<user> get(std::string_view id) override {
        const auto name = all_.with_one([&](connection& c) { return c.find({"GET", key(id)}); });
        return name ? std::optional(user{std::string(id), *name}) : std::nullopt;
    }
    void put(const user& u) override {
        all_.with_one([&](connection& c) { return c.ask({"SET", key(u.id), u.name}); });
    }
    bool remove(std::string_view id) override {
        return all_.with_one([&](connection& c) { return c.ask({"DEL", key(id)}); }) == "1";
    }

private:
    static std::string key(std::string_view id) { return "user:" + std::string(id); }

    connections<hiredis_client> all_;
};

class libpq_store final : public users::store {
public:
    using server = libpq_client::server;
    using connection = libpq_client::connection;

    explicit libpq_store(const server& to) : all_(to) {
        ask("create table if not exists users (id text primary key, name text not null)", {});
    }

    std::optional<user> get(std::string_view id) override {
        const auto row = ask("select id, name from users where id = $1", {std::string(id)});
        return row.empty() ? std::nullopt : std::optional(user{row[0], row[1]});
    }
    void put(const user& u) override {
        ask("insert into users values ($1, $2) on conflict (id) do update set name = excluded.name", {u.id, u.name});
    }
    bool remove(std::string_view id) override {
        return !ask("delete from users where id = $1 returning id", {std::string(id)}).empty();
    }

private:
    std::vector<std::string> ask(const char* statement, const std::vector<std::string>& values) {
        return all_.with_one([&](connection& c) { return c.row(statement, values); });
    }

    connections<libpq_client> all_;
};

class libmariadb_store final : public users::store {
public:
    using server = libmariadb_client::server;
    using connection = libmariadb_client::connection;

    explicit libmariadb_store(const server& to) : all_(to) {
        all_.with_one([](connection& c) {
            c.run("create database if not exists weft");
            c.run("create table if not exists weft.users (id varchar(200) character set binary primary key, name blob not null)");
        });
    }

    std::optional<user> get(std::string_view id) override {
        const auto row = all_.with_one([&](connection& c) {  //
            return c.row("select id, name from weft.users where id = " + c.quoted(id));
        });
        return row.empty() ? std::nullopt : std::optional(user{row[0], row[1]});
    }
    void put(const user& u) override {
        all_.with_one([&](connection& c) {  //
            c.run("replace into weft.users values (" + c.quoted(u.id) + ", " + c.quoted(u.name) + ")");
        });
    }
    bool remove(std::string_view id) override {
        return !all_.with_one([&](connection& c) {
                        return c.row("delete from weft.users where id = " + c.quoted(id) + " returning id");
                    })
                    .empty();
    }

private:
    connections<libmariadb_client> all_;
};

template <class Store>
class service_by_clients : public testing::Test {
protected:
    /// Runs body(rt, port), on this plain thread, while the service is up in the runtime.
    template <class F>
    void with_service(F body) {
        watched_runtime rt(client_runtime());
        ivar<http::server*> up;
        auto service = rt.spawn({.as_thread = true}, [&] {
            http::server app;
            Store data(server_);
            users::users_service routes(app, data);
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
    typename Store::server server_;
};
using stores = testing::Types<hiredis_store, libpq_store, libmariadb_store>;
TYPED_TEST_SUITE(service_by_clients, stores, );

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

}  // namespace
}  // namespace weft::test
