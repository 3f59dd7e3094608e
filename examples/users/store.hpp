// store.hpp - what the users service asks of a database.
#pragma once

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace users {

struct user {
    std::string id;
    std::string name;
    friend bool operator==(const user&, const user&) = default;
};

/// Called by many fibers at once. Every operation parks while the database works, and throws a std::exception that says why
/// when it fails.
class store {
public:
    virtual ~store() = default;

    virtual std::optional<user> get(std::string_view id) = 0;
    virtual void put(const user&) = 0;              ///< replaces a user of the same id
    virtual bool remove(std::string_view id) = 0;   ///< false: there was none
};

/// `redis://...` or `redis+unix:///path` is a Redis server, anything else the path of an SQLite file, made if it is not there.
/// \throws  std::invalid_argument, std::runtime_error naming what is wrong. An unreachable Redis is not: it may come up later.
std::unique_ptr<store> open_store(const std::string& where, const std::string& ca = {});

}  // namespace users
