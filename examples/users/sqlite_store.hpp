// sqlite_store.hpp - users in an SQLite file: reads on the spot, writes through the blocking pool.
//
// A few connections read side by side (the file is in WAL mode); one writes, because SQLite lets only one. A fiber that finds
// them all in use parks for the next, so that no thread of the pool waits for another.
#pragma once

#include <memory>

#include <weft/channel.hpp>

#include "store.hpp"

namespace users {

class sqlite_store final : public store {
public:
    /// \throws  std::runtime_error naming the file and SQLite's reason.
    explicit sqlite_store(const std::string& path);
    ~sqlite_store() override;

    std::optional<user> get(std::string_view id) override;
    void put(const user&) override;
    bool remove(std::string_view id) override;

private:
    class connection;
    class lease;
    using connections = weft::channel<std::unique_ptr<connection>>;

    connections readers_;
    connections writer_;
};

}  // namespace users
