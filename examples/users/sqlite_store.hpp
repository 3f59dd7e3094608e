// sqlite_store.hpp - users in an SQLite file: reads on the spot, writes through the blocking pool.
//
// A few connections read side by side (the file is in WAL mode); one writes, because SQLite lets only one. A fiber that finds
// them all in use parks for the next, so that no thread of the pool waits for another.
#pragma once

#include <memory>
#include <vector>

#include <weft/mutex.hpp>
#include <weft/semaphore.hpp>

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

    /// Connections that nobody uses. The one that was used last is taken first, since its pages are in the
    /// CPU's caches.
    class idle_connections {
    public:
        void put(std::unique_ptr<connection>);

        /// \parks  while there is none.
        std::unique_ptr<connection> take();

    private:
        weft::counting_semaphore<> count_{0};
        weft::mutex lock_;
        std::vector<std::unique_ptr<connection>> stack_;
    };

    idle_connections readers_;
    idle_connections writer_;
};

}  // namespace users
