// libpq_client.hpp - libpq with TLS as the contract asks for it, with a PostgreSQL of the test's own.
#pragma once

#include <libpq-fe.h>
#include <signal.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "clients/support/server_process.hpp"
#include "redis/support/redis_server.hpp"

namespace weft::test {

struct libpq_client {
    static constexpr const char* library = "libpq";

    class server {
    public:
        server() {
            std::ofstream(folder_ / "password") << "secret\n";
            run_program({WEFT_POSTGRES_PROGRAMS "/initdb", "--pgdata", folder_ / "data", "--username", "tester", "--auth",
                         "scram-sha-256", "--pwfile", folder_ / "password", "--encoding", "UTF8", "--locale", "C", "--no-sync"},
                        folder_ / "initdb.log", run_as::an_unprivileged_user);
            make_certificate(folder_ / "key.pem", certificate(), run_as::an_unprivileged_user);
            start();
        }
        void start() {
            process_.start([this] { return ::PQping(address().c_str()) == PQPING_OK; });
        }
        void kill() { process_.kill(); }

        /// What is named none is not there: files in the home of whoever runs the test do not count.
        std::string address() const {
            return "host=localhost hostaddr=127.0.0.1 port=" + std::to_string(port_) +
                   " user=tester password=secret dbname=postgres sslmode=verify-full sslrootcert=" + certificate() +
                   " sslcert=" + (folder_ / "none") + " sslcrl=" + (folder_ / "none") + " passfile=" + (folder_ / "none");
        }

        std::string url() const {
            return "postgres://tester:secret@127.0.0.1:" + std::to_string(port_) + "/postgres?sslmode=require";
        }

    private:
        std::string certificate() const { return folder_ / "certificate.pem"; }

        const working_folder folder_{run_as::an_unprivileged_user};
        const std::uint16_t port_ = free_port();
        server_process process_{{WEFT_POSTGRES_PROGRAMS "/postgres", "-D", folder_ / "data", "-p", std::to_string(port_), "-k",
                                 "", "-c", "listen_addresses=127.0.0.1", "-c", "max_connections=400", "-c", "fsync=off", "-c",
                                 "ssl=on", "-c", "ssl_cert_file=" + certificate(), "-c", "ssl_key_file=" + (folder_ / "key.pem")},
                                folder_ / "postgres.log",
                                {.user = run_as::an_unprivileged_user, .last_signal = SIGQUIT}};
    };

    class connection {
    public:
        explicit connection(const server& to) : connection_(::PQconnectdb(to.address().c_str()), ::PQfinish) {
            if (::PQstatus(connection_.get()) != CONNECTION_OK) throw call_failed(::PQerrorMessage(connection_.get()));
            if (!::PQsslInUse(connection_.get())) throw call_failed("not encrypted");
        }
        std::string echo(long number, std::string_view text) {
            const result answer = ask("select $1::int8, $2::text", {std::to_string(number), std::string(text)});
            return std::string(::PQgetvalue(answer.get(), 0, 0)) + ' ' + ::PQgetvalue(answer.get(), 0, 1);
        }
        std::string refusal(long number) {
            const std::string statement = "select 'nonsense " + std::to_string(number) + "'::int8";
            const result answer(::PQexec(connection_.get(), statement.c_str()), ::PQclear);
            require_connection();
            return ::PQresultErrorMessage(answer.get());
        }
        void wait_long() { ask("select pg_sleep($1)", {"60"}); }

        /// \returns the values of the first row; none if there is no row.
        std::vector<std::string> row(const char* statement, const std::vector<std::string>& values) {
            const result answer = ask(statement, values);
            std::vector<std::string> found;
            for (int i = 0; ::PQntuples(answer.get()) > 0 && i < ::PQnfields(answer.get()); ++i)
                found.emplace_back(::PQgetvalue(answer.get(), 0, i));
            return found;
        }

    private:
        using result = std::unique_ptr<PGresult, void (*)(PGresult*)>;

        void require_connection() const {
            if (::PQstatus(connection_.get()) != CONNECTION_OK) throw call_failed(::PQerrorMessage(connection_.get()));
        }
        result ask(const char* statement, const std::vector<std::string>& values) {
            std::vector<const char*> pointers;
            for (const auto& each : values) pointers.push_back(each.c_str());
            result answer(::PQexecParams(connection_.get(), statement, static_cast<int>(values.size()), nullptr, pointers.data(),
                                         nullptr, nullptr, 0),
                          ::PQclear);
            if (::PQresultStatus(answer.get()) != PGRES_TUPLES_OK && ::PQresultStatus(answer.get()) != PGRES_COMMAND_OK)
                throw call_failed(::PQerrorMessage(connection_.get()));
            return answer;
        }
        std::unique_ptr<PGconn, void (*)(PGconn*)> connection_;
    };

    static std::string refusal_of(long number) {
        return "invalid input syntax for type bigint: \"nonsense " + std::to_string(number) + "\"";
    }
    static std::string interruption(int error) { return std::strerror(error); }
};

}  // namespace weft::test
