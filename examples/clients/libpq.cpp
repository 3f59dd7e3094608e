// libpq.cpp - a select of the number.
#include <libpq-fe.h>

#include "libraries.hpp"

namespace clients {

namespace {

class by_libpq final : public connection {
public:
    explicit by_libpq(const std::string& url) : connection_(::PQconnectdb(url.c_str()), ::PQfinish) {
        if (::PQstatus(connection_.get()) != CONNECTION_OK) fail();
    }
    std::string ask(int number) override {
        const std::string text = std::to_string(number);
        const char* const values[] = {text.c_str()};
        const std::unique_ptr<PGresult, void (*)(PGresult*)> answer(
            ::PQexecParams(connection_.get(), "select $1::int", 1, nullptr, values, nullptr, nullptr, 0), ::PQclear);
        if (::PQresultStatus(answer.get()) != PGRES_TUPLES_OK) fail();
        return ::PQgetvalue(answer.get(), 0, 0);
    }

private:
    [[noreturn]] void fail() const { throw failure(std::string("libpq: ") + ::PQerrorMessage(connection_.get())); }

    std::unique_ptr<PGconn, void (*)(PGconn*)> connection_;
};

}  // namespace

std::unique_ptr<connection> connect_by_libpq(const std::string& url) { return std::make_unique<by_libpq>(url); }

}  // namespace clients
