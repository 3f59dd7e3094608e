// redis_store.hpp - users in Redis: the name under the key user:ID.
#pragma once

#include <weft/redis/client.hpp>

#include "store.hpp"

namespace users {

class redis_store final : public store {
public:
    explicit redis_store(const std::string& url) : db_(url) {}

    std::optional<user> get(std::string_view id) override;
    void put(const user&) override;
    bool remove(std::string_view id) override;

private:
    weft::redis::client db_;
};

}  // namespace users
