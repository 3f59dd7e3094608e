// stores.cpp - four stores in straight lines, each as a program with threads would have it.
#include "stores.hpp"

#include <stdexcept>
#include <utility>

#include "libraries.hpp"
#include "pooled.hpp"
#include "redis_store.hpp"
#include "user_json.hpp"

namespace clients {

namespace {

using users::user;

/// The name under the key user:ID, as users::redis_store keeps it.
class hiredis_store final : public users::store {
public:
    hiredis_store(address to, unsigned connections)
        : all_([to = std::move(to)] { return std::make_unique<hiredis_connection>(to); }, connections) {}

    std::optional<user> get(std::string_view id) override {
        const auto name = run({"GET", key(id)});
        return name ? std::optional(user{std::string(id), *name}) : std::nullopt;
    }
    void put(const user& u) override { run({"SET", key(u.id), u.name}); }
    bool remove(std::string_view id) override { return run({"DEL", key(id)}) == "1"; }

private:
    static std::string key(std::string_view id) { return "user:" + std::string(id); }
    std::optional<std::string> run(const std::vector<std::string>& command) {
        return all_.with_one([&](hiredis_connection& c) { return c.run(command); });
    }

    pooled<hiredis_connection> all_;
};

class libpq_store final : public users::store {
public:
    libpq_store(std::string url, unsigned connections)
        : all_([url = std::move(url)] { return std::make_unique<libpq_connection>(url); }, connections) {
        run("create table if not exists users (id text primary key, name text not null)", {});
    }

    std::optional<user> get(std::string_view id) override {
        const auto row = run("select id, name from users where id = $1", {std::string(id)});
        return row.empty() ? std::nullopt : std::optional(user{row[0], row[1]});
    }
    void put(const user& u) override {
        run("insert into users values ($1, $2) on conflict (id) do update set name = excluded.name", {u.id, u.name});
    }
    bool remove(std::string_view id) override {
        return !run("delete from users where id = $1 returning id", {std::string(id)}).empty();
    }

private:
    std::vector<std::string> run(const char* statement, const std::vector<std::string>& values) {
        return all_.with_one([&](libpq_connection& c) { return c.run(statement, values); });
    }

    pooled<libpq_connection> all_;
};

class libmariadb_store final : public users::store {
public:
    libmariadb_store(address to, unsigned connections)
        : table_("`" + std::exchange(to.path, "") + "`"),  // connects without a database, which may not be there yet
          all_([to = std::move(to)] { return std::make_unique<libmariadb_connection>(to); }, connections) {
        all_.with_one([this](libmariadb_connection& c) {
            c.run("create database if not exists " + table_);
            table_ += ".users";
            c.run("create table if not exists " + table_ +
                  " (id varchar(200) character set binary primary key, name blob not null)");
        });
    }

    std::optional<user> get(std::string_view id) override {
        const auto row = all_.with_one(
            [&](libmariadb_connection& c) { return c.row("select id, name from " + table_ + " where id = " + c.quoted(id)); });
        return row.empty() ? std::nullopt : std::optional(user{row[0], row[1]});
    }
    void put(const user& u) override {
        all_.with_one([&](libmariadb_connection& c) {
            c.run("replace into " + table_ + " values (" + c.quoted(u.id) + ", " + c.quoted(u.name) + ")");
        });
    }
    bool remove(std::string_view id) override {
        return !all_.with_one([&](libmariadb_connection& c) {
                        return c.row("delete from " + table_ + " where id = " + c.quoted(id) + " returning id");
                    })
                    .empty();
    }

private:
    std::string table_;
    pooled<libmariadb_connection> all_;
};

/// The users of another users service.
class libcurl_store final : public users::store {
public:
    libcurl_store(std::string url, unsigned connections)
        : all_([url = std::move(url)] { return std::make_unique<libcurl_connection>(url); }, connections) {}

    std::optional<user> get(std::string_view id) override {
        const auto answer = ask("GET", id);
        if (answer.status == 404) return std::nullopt;
        if (answer.status != 200) fail(answer);
        return users::user_from_json(answer.text);
    }
    void put(const user& u) override {
        const auto answer = all_.with_one([&](libcurl_connection& c) { return c.request("POST", "/users", users::to_json(u)); });
        if (answer.status != 201) fail(answer);
    }
    bool remove(std::string_view id) override {
        const auto answer = ask("DELETE", id);
        if (answer.status != 204 && answer.status != 404) fail(answer);
        return answer.status == 204;
    }

private:
    using page = libcurl_connection::page;

    page ask(const char* method, std::string_view id) {
        return all_.with_one([&](libcurl_connection& c) { return c.request(method, "/users/" + c.escaped(id)); });
    }
    [[noreturn]] static void fail(const page& answer) {
        throw failure("the users service behind this one has answered " + std::to_string(answer.status));
    }

    pooled<libcurl_connection> all_;
};

address database_in(const std::string& url) {
    auto to = parse(url, 3306);
    if (to.path.empty() || to.path.find('`') != std::string::npos)
        throw std::invalid_argument("the URL of MySQL or MariaDB must end with /DATABASE");
    return to;
}

}  // namespace

std::unique_ptr<users::store> open_store(const std::string& url, unsigned connections) {
    if (url.starts_with("hiredis://")) return std::make_unique<hiredis_store>(parse(url, 6379), connections);
    if (url.starts_with("postgres://") || url.starts_with("postgresql://"))
        return std::make_unique<libpq_store>(url, connections);
    if (url.starts_with("mysql://")) return std::make_unique<libmariadb_store>(database_in(url), connections);
    if (url.starts_with("http://")) {
        static_cast<void>(parse(url, 80));  // rather than at the first request
        return std::make_unique<libcurl_store>(url.ends_with('/') ? url.substr(0, url.size() - 1) : url, connections);
    }
    if (url.starts_with("redis://")) return std::make_unique<users::redis_store>(url);
    throw std::invalid_argument("the store must begin with hiredis://, postgres://, mysql://, http:// or redis://");
}

}  // namespace clients
