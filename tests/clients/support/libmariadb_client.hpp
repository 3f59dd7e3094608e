// libmariadb_client.hpp - libmariadb as the contract asks for it, with a MariaDB of the test's own.
#pragma once

#include <gtest/gtest.h>
#include <mysql.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "clients/support/server_process.hpp"
#include "redis/support/redis_server.hpp"

namespace weft::test {

struct libmariadb_client {
    static constexpr const char* library = "libmariadb";

    class server {
    public:
        server() {
            std::filesystem::create_directory(folder_ / "data");
            start();
        }
        void start() {
            process_.start([this] {
                try {
                    const connection c(*this);
                    return true;
                } catch (const call_failed&) {
                    return false;
                }
            });
        }
        void kill() { process_.kill(); }
        unsigned port() const noexcept { return port_; }
        std::string url() const { return "mysql://tester:secret@127.0.0.1:" + std::to_string(port_) + "/weft"; }

    private:
        const working_folder folder_{run_as::the_same_user};
        const std::uint16_t port_ = free_port();
        // Without tables of users it needs no more than an empty folder. As root it must be told so.
        server_process process_{
            {WEFT_MARIADB_SERVER, "--no-defaults", "--user=root", "--skip-grant-tables", "--datadir=" + (folder_ / "data"),
             "--port=" + std::to_string(port_), "--bind-address=127.0.0.1", "--socket=" + (folder_ / "socket"),
             "--pid-file=" + (folder_ / "pid"), "--max-connections=400", "--innodb-log-file-size=4M",
             "--innodb-buffer-pool-size=8M", "--innodb-flush-log-at-trx-commit=0", "--skip-name-resolve"},
            folder_ / "mariadbd.log"};
    };

    class connection {
    public:
        explicit connection(const server& to) : connection_(::mysql_init(nullptr), ::mysql_close) {
            if (!connection_) throw call_failed("no memory");
            if (!::mysql_real_connect(connection_.get(), "127.0.0.1", "tester", "secret", nullptr, to.port(), nullptr, 0)) fail();
        }
        std::string echo(long number, std::string_view text) {
            const result rows = ask("select " + std::to_string(number) + ", '" + std::string(text) + "'");
            const MYSQL_ROW row = ::mysql_fetch_row(rows.get());
            if (!row) fail();
            return std::string(row[0]) + ' ' + row[1];
        }
        std::string refusal(long number) {
            const std::string statement = "select nonsense_" + std::to_string(number);
            if (::mysql_query(connection_.get(), statement.c_str()) == 0) return "not refused";
            if (::mysql_errno(connection_.get()) != unknown_column) fail();
            return ::mysql_error(connection_.get());
        }
        void wait_long() { ask("select sleep(60)"); }

        /// \returns the values of the first row; none if there is no row.
        std::vector<std::string> row(const std::string& statement) {
            const result rows = ask(statement);
            const MYSQL_ROW first = ::mysql_fetch_row(rows.get());
            std::vector<std::string> found;
            for (unsigned i = 0; first && i < ::mysql_num_fields(rows.get()); ++i) found.emplace_back(first[i]);
            return found;
        }
        void run(const std::string& statement) {
            if (::mysql_real_query(connection_.get(), statement.data(), statement.size()) != 0) fail();
        }
        /// Text as it may stand in a statement, with its quotes.
        std::string quoted(std::string_view text) {
            std::string escaped(2 * text.size() + 1, '\0');
            escaped.resize(::mysql_real_escape_string(connection_.get(), escaped.data(), text.data(), text.size()));
            return "'" + escaped + "'";
        }

    private:
        using result = std::unique_ptr<MYSQL_RES, void (*)(MYSQL_RES*)>;
        static constexpr unsigned unknown_column = 1054;

        [[noreturn]] void fail() const { throw call_failed(::mysql_error(connection_.get())); }
        result ask(const std::string& statement) {
            if (::mysql_real_query(connection_.get(), statement.data(), statement.size()) != 0) fail();
            result rows(::mysql_store_result(connection_.get()), ::mysql_free_result);
            if (!rows) fail();
            return rows;
        }
        std::unique_ptr<MYSQL, void (*)(MYSQL*)> connection_;
    };

    static std::string refusal_of(long number) { return "Unknown column 'nonsense_" + std::to_string(number) + "'"; }
    static std::string interruption(int) { return "Lost connection to server during query"; }
};

/// What the library does once for a process, before its first thread and behind its last.
class libmariadb_life : public testing::Environment {
    void SetUp() override { ASSERT_EQ(::mysql_library_init(0, nullptr, nullptr), 0); }
    void TearDown() override { ::mysql_library_end(); }
};
[[maybe_unused]] inline const auto* const whole_libmariadb_life = testing::AddGlobalTestEnvironment(new libmariadb_life);

}  // namespace weft::test
