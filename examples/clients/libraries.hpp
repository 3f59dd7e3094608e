// libraries.hpp - a connection by each of the four libraries, as a program with threads would use them.
//
// All calls throw `failure`, also where the server has refused: the connection is then dropped.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "connection.hpp"

struct redisContext;
struct pg_conn;
struct st_mysql;

namespace clients {

/// scheme://user:password@host:port/path
struct address {
    std::string scheme, user, password, host, path;
    std::uint16_t port = 0;
};

/// \param usual_port  if the URL has none. \throws std::invalid_argument
address parse(const std::string& url, std::uint16_t usual_port);

class hiredis_connection final : public connection {
public:
    explicit hiredis_connection(const address&);
    /// ECHO of the number.
    std::string ask(int number) override;
    /// \returns the text of an answer, a number as text; nothing for nil.
    std::optional<std::string> run(const std::vector<std::string>& command);

private:
    std::unique_ptr<redisContext, void (*)(redisContext*)> context_;
};

class libpq_connection final : public connection {
public:
    explicit libpq_connection(const std::string& url);
    /// A select of the number.
    std::string ask(int number) override;
    /// \returns the values of the first row; none if there is no row.
    std::vector<std::string> run(const char* statement, const std::vector<std::string>& values);

private:
    [[noreturn]] void fail() const;

    std::unique_ptr<pg_conn, void (*)(pg_conn*)> connection_;
};

class libmariadb_connection final : public connection {
public:
    explicit libmariadb_connection(const address&);
    /// A select of the number.
    std::string ask(int number) override;
    void run(const std::string& statement);
    /// \returns the values of the first row; none if there is no row.
    std::vector<std::string> row(const std::string& statement);
    /// Text as it may stand in a statement, with its quotes.
    std::string quoted(std::string_view text);

private:
    [[noreturn]] void fail() const;

    std::unique_ptr<st_mysql, void (*)(st_mysql*)> connection_;
};

class libcurl_connection final : public connection {
public:
    struct page {
        long status = 0;
        std::string text;
    };

    explicit libcurl_connection(std::string url);
    ~libcurl_connection() override;
    /// A GET, on a connection that is kept.
    std::string ask(int number) override;
    /// \param path  is put behind the URL.
    page request(const char* method, const std::string& path, const std::string& body = {});
    /// Text as it may stand in a path.
    std::string escaped(std::string_view text);

private:
    page fetch(const std::string& url, const char* method, const std::string& body);

    const std::string url_;
    void* const handle_;
};

}  // namespace clients
