// sqlite_store.cpp - prepared statements on pooled connections.
#include "sqlite_store.hpp"

#include <sqlite3.h>

#include <utility>

#include <weft/blocking.hpp>

namespace users {

namespace {

constexpr std::size_t reader_count = 4;        // chosen: enough for the reads that miss the page cache to overlap
constexpr int busy_timeout_ms = 5000;          // chosen: how long another program may hold the file

constexpr const char* set_up = R"(
    pragma journal_mode = wal;
    pragma synchronous = normal;
    create table if not exists users (id text primary key not null, name text not null) without rowid;
)";

/// SQLite locks a mutex of the whole process for each allocation, to count its memory. This turns the
/// counting off, and with it sqlite3_memory_used() and the heap limits, which the example does not use. It
/// has an effect only before the first use of SQLite, and no other thread may use SQLite meanwhile.
void count_no_memory() noexcept {
    static const int once = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    static_cast<void>(once);
}

struct close_database {
    void operator()(sqlite3* db) const noexcept { sqlite3_close_v2(db); }
};
struct finalize_statement {
    void operator()(sqlite3_stmt* s) const noexcept { sqlite3_finalize(s); }
};

}  // namespace

/// One connection with its statements. Used by one thread at a time.
class sqlite_store::connection {
public:
    explicit connection(const std::string& path) : path_(path) {
        sqlite3* opened = nullptr;
        const int result = sqlite3_open_v2(path.c_str(), &opened,
                                           SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
        db_.reset(opened);
        check(result);
        sqlite3_busy_timeout(opened, busy_timeout_ms);
        check(sqlite3_exec(opened, set_up, nullptr, nullptr, nullptr));
        select_ = prepare("select name from users where id = ?1");
        upsert_ = prepare("insert into users (id, name) values (?1, ?2) on conflict (id) do update set name = excluded.name");
        delete_ = prepare("delete from users where id = ?1");
    }

    std::optional<user> get(std::string_view id) {
        const running select(*this, select_, id);
        if (!select.step()) return std::nullopt;
        const auto* const text = reinterpret_cast<const char*>(sqlite3_column_text(select_.get(), 0));
        const auto size = static_cast<std::size_t>(sqlite3_column_bytes(select_.get(), 0));
        if (!text && sqlite3_errcode(db_.get()) == SQLITE_NOMEM) check(SQLITE_NOMEM);
        return user{std::string(id), text ? std::string(text, size) : std::string()};
    }

    void put(const user& u) { running(*this, upsert_, u.id, u.name).step(); }

    bool remove(std::string_view id) {
        running(*this, delete_, id).step();
        return sqlite3_changes(db_.get()) != 0;
    }

private:
    using statement = std::unique_ptr<sqlite3_stmt, finalize_statement>;

    /// A statement from the binding of its texts to its reset. The texts must outlive it.
    class running {
    public:
        template <class... Texts>
        running(connection& on, statement& s, const Texts&... texts) : on_(on), statement_(s.get()) {
            int index = 0;
            (on_.check(sqlite3_bind_text64(statement_, ++index, std::string_view(texts).data(), std::string_view(texts).size(),
                                           SQLITE_STATIC, SQLITE_UTF8)), ...);
        }
        ~running() {
            sqlite3_reset(statement_);
            sqlite3_clear_bindings(statement_);
        }
        running(const running&) = delete;
        running& operator=(const running&) = delete;

        /// True: there is a row.
        bool step() const {
            const int result = sqlite3_step(statement_);
            if (result != SQLITE_DONE && result != SQLITE_ROW) on_.check(result);
            return result == SQLITE_ROW;
        }

    private:
        connection& on_;
        sqlite3_stmt* const statement_;
    };

    statement prepare(const char* sql) {
        sqlite3_stmt* prepared = nullptr;
        check(sqlite3_prepare_v3(db_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &prepared, nullptr));
        return statement(prepared);
    }

    void check(int result) const {
        if (result == SQLITE_OK) return;
        throw std::runtime_error("sqlite " + path_ + ": " + (db_ ? sqlite3_errmsg(db_.get()) : sqlite3_errstr(result)));
    }

    const std::string path_;
    std::unique_ptr<sqlite3, close_database> db_;
    statement select_, upsert_, delete_;
};

void sqlite_store::idle_connections::put(std::unique_ptr<connection> c) {
    {
        const std::lock_guard guard(lock_);
        // In the destructor of a lease this cannot throw, since there was room for it before.
        stack_.push_back(std::move(c));
    }
    count_.release();
}

std::unique_ptr<sqlite_store::connection> sqlite_store::idle_connections::take() {
    count_.acquire();
    const std::lock_guard guard(lock_);
    auto last = std::move(stack_.back());
    stack_.pop_back();
    return last;
}

/// A connection for the time of one operation.
class sqlite_store::lease {
public:
    explicit lease(idle_connections& from) : from_(from), mine_(from.take()) {}
    ~lease() { from_.put(std::move(mine_)); }
    lease(const lease&) = delete;
    lease& operator=(const lease&) = delete;

    connection& operator*() const noexcept { return *mine_; }

private:
    idle_connections& from_;
    std::unique_ptr<connection> mine_;
};

sqlite_store::sqlite_store(const std::string& path) {
    weft::blocking([&] {
        count_no_memory();
        writer_.put(std::make_unique<connection>(path));
        for (std::size_t i = 0; i < reader_count; ++i) readers_.put(std::make_unique<connection>(path));
    });
}

sqlite_store::~sqlite_store() = default;

std::optional<user> sqlite_store::get(std::string_view id) {
    const lease db(readers_);
    return (*db).get(id);  // microseconds; one that waits for the disk loses its worker meanwhile (chapter 9 of the guide)
}

void sqlite_store::put(const user& u) {
    const lease db(writer_);
    weft::blocking([&] { (*db).put(u); });
}

bool sqlite_store::remove(std::string_view id) {
    const lease db(writer_);
    return weft::blocking([&] { return (*db).remove(id); });
}

}  // namespace users
