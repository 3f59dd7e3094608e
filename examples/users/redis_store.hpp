// redis_store.hpp - users in Redis: the name under the key user:ID.
#pragma once

#include <memory>

#include <weft/redis/client.hpp>
#include <weft/tls/context.hpp>

#include "store.hpp"

namespace users {

class redis_store final : public store {
public:
    explicit redis_store(const std::string& url) : db_(url) {}
    /// With TLS; `ca` is a file of authorities, or empty.
    redis_store(const std::string& url, const std::string& ca)
        : tls_(std::make_unique<weft::tls::context>(weft::tls::context_options{.ca = ca})), db_(url, {.tls = tls_.get()}) {}

    std::optional<user> get(std::string_view id) override;
    void put(const user&) override;
    bool remove(std::string_view id) override;

private:
    const std::unique_ptr<weft::tls::context> tls_;
    weft::redis::client db_;
};

}  // namespace users
