// libmariadb.cpp - a select of the number, from MariaDB or MySQL.
#include <mysql.h>

#include "libraries.hpp"

namespace clients {

namespace {

class by_libmariadb final : public connection {
public:
    explicit by_libmariadb(const address& to) : connection_(::mysql_init(nullptr), ::mysql_close) {
        if (!connection_) throw failure("libmariadb: no memory");
        if (!::mysql_real_connect(connection_.get(), to.host.c_str(), to.user.c_str(), to.password.c_str(),
                                  to.path.empty() ? nullptr : to.path.c_str(), to.port, nullptr, 0))
            fail();
    }
    std::string ask(int number) override {
        const std::string statement = "select " + std::to_string(number);
        if (::mysql_query(connection_.get(), statement.c_str()) != 0) fail();
        const std::unique_ptr<MYSQL_RES, void (*)(MYSQL_RES*)> rows(::mysql_store_result(connection_.get()), ::mysql_free_result);
        if (!rows) fail();
        const MYSQL_ROW row = ::mysql_fetch_row(rows.get());
        if (!row) fail();
        return row[0];
    }

private:
    [[noreturn]] void fail() const { throw failure(std::string("libmariadb: ") + ::mysql_error(connection_.get())); }

    std::unique_ptr<MYSQL, void (*)(MYSQL*)> connection_;
};

}  // namespace

std::unique_ptr<connection> connect_by_libmariadb(const address& to) {
    [[maybe_unused]] static const int once = ::mysql_library_init(0, nullptr, nullptr);  // not safe for several threads at once
    return std::make_unique<by_libmariadb>(to);
}

}  // namespace clients
