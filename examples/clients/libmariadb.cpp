#include <mysql.h>

#include "libraries.hpp"

namespace clients {

namespace {

st_mysql* make_handle() {
    [[maybe_unused]] static const int once = ::mysql_library_init(0, nullptr, nullptr);  // not safe for several threads at once
    return ::mysql_init(nullptr);
}

}  // namespace

libmariadb_connection::libmariadb_connection(const address& to) : connection_(make_handle(), ::mysql_close) {
    if (!connection_) throw failure("libmariadb: no memory");
    const char* const database = to.path.empty() ? nullptr : to.path.c_str();
    if (!::mysql_real_connect(connection_.get(), to.host.c_str(), to.user.c_str(), to.password.c_str(), database, to.port,
                              nullptr, 0))
        fail();
}

std::string libmariadb_connection::ask(int number) { return row("select " + std::to_string(number)).at(0); }

void libmariadb_connection::run(const std::string& statement) {
    if (::mysql_real_query(connection_.get(), statement.data(), statement.size()) != 0) fail();
}

std::vector<std::string> libmariadb_connection::row(const std::string& statement) {
    run(statement);
    const std::unique_ptr<MYSQL_RES, void (*)(MYSQL_RES*)> rows(::mysql_store_result(connection_.get()), ::mysql_free_result);
    if (!rows) fail();
    std::vector<std::string> found;
    if (const MYSQL_ROW first = ::mysql_fetch_row(rows.get()))
        for (unsigned i = 0; i < ::mysql_num_fields(rows.get()); ++i) found.emplace_back(first[i]);
    return found;
}

std::string libmariadb_connection::quoted(std::string_view text) {
    std::string escaped(2 * text.size() + 1, '\0');
    escaped.resize(::mysql_real_escape_string(connection_.get(), escaped.data(), text.data(), text.size()));
    return "'" + escaped + "'";
}

void libmariadb_connection::fail() const { throw failure(std::string("libmariadb: ") + ::mysql_error(connection_.get())); }

}  // namespace clients
