#include <libpq-fe.h>

#include "libraries.hpp"

namespace clients {

libpq_connection::libpq_connection(const std::string& url) : connection_(::PQconnectdb(url.c_str()), ::PQfinish) {
    if (::PQstatus(connection_.get()) != CONNECTION_OK) fail();
}

std::string libpq_connection::ask(int number) { return run("select $1::int", {std::to_string(number)}).at(0); }

std::vector<std::string> libpq_connection::run(const char* statement, const std::vector<std::string>& values) {
    std::vector<const char*> texts;
    for (const auto& each : values) texts.push_back(each.c_str());
    const std::unique_ptr<PGresult, void (*)(PGresult*)> answer(
        ::PQexecParams(connection_.get(), statement, static_cast<int>(texts.size()), nullptr, texts.data(), nullptr, nullptr, 0),
        ::PQclear);
    const auto status = ::PQresultStatus(answer.get());
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) fail();
    std::vector<std::string> found;
    for (int i = 0; ::PQntuples(answer.get()) > 0 && i < ::PQnfields(answer.get()); ++i)
        found.emplace_back(::PQgetvalue(answer.get(), 0, i));
    return found;
}

void libpq_connection::fail() const { throw failure(std::string("libpq: ") + ::PQerrorMessage(connection_.get())); }

}  // namespace clients
