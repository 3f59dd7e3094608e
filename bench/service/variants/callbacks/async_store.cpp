#include "callbacks/async_store.hpp"

#include <array>
#include <string>
#include <utility>
#include <vector>

#include <weft/redis/error.hpp>

#include "callbacks/redis_link.hpp"
#include "placement.hpp"
#include "user_cache.hpp"

namespace variants {
namespace {

namespace redis = weft::redis;
using users::user;

std::string key(std::string_view id) { return std::string("user:").append(id); }

/// Makes an outcome of a reply by `read`, which throws if the reply is none that was expected.
template <class T, class Read>
outcome<T> outcome_of(redis::value& reply, const std::exception_ptr& failure, Read&& read) {
    if (failure) return {.failure = failure};
    try {
        if (const auto* refused = std::get_if<redis::error_reply>(&reply.content()))
            throw redis::error(redis::error_kind::reply, refused->text);
        return {.value = read(reply), .failure = nullptr};
    } catch (const redis::error&) {
        return {.failure = std::current_exception()};
    }
}

class redis_async_store final : public async_store {
public:
    redis_async_store(loop& in, std::string_view url) : link_(in, url) {}

    void get(std::string_view id, on_done<std::optional<user>> then) override {
        const auto text = key(id);
        link_.call(std::array<redis::argument, 2>{"GET", text},
                   [id = std::string(id), then = std::move(then)](redis::value reply, const std::exception_ptr& failure) {
                       then(outcome_of<std::optional<user>>(reply, failure, [&](redis::value& r) -> std::optional<user> {
                           if (r.is_nil()) return std::nullopt;
                           return user{id, std::move(std::get<std::string>(r.content()))};
                       }));
                   });
    }

    void put(const user& u, on_done<bool> then) override {
        const auto text = key(u.id);
        link_.call(std::array<redis::argument, 3>{"SET", text, u.name},
                   [then = std::move(then)](redis::value reply, const std::exception_ptr& failure) {
                       then(outcome_of<bool>(reply, failure, [](redis::value&) { return true; }));
                   });
    }

    void remove(std::string_view id, on_done<bool> then) override {
        const auto text = key(id);
        link_.call(std::array<redis::argument, 2>{"DEL", text},
                   [then = std::move(then)](redis::value reply, const std::exception_ptr& failure) {
                       then(outcome_of<bool>(reply, failure, [](redis::value& r) { return r.integer() != 0; }));
                   });
    }

private:
    redis_link link_;
};

class cached_async_store final : public async_store {
public:
    cached_async_store(std::unique_ptr<async_store> data, std::chrono::nanoseconds lifetime)
        : data_(std::move(data)), cache_(lifetime) {}

    void get(std::string_view id, on_done<std::optional<user>> then) override {
        if (auto known = cache_.find(id)) return then({.value = std::move(known), .failure = nullptr});
        data_->get(id, [this, seen = cache_.writes(), then = std::move(then)](outcome<std::optional<user>> read) {
            if (read.value) cache_.keep(*read.value, seen);
            then(std::move(read));
        });
    }

    void put(const user& u, on_done<bool> then) override { data_->put(u, writing(u.id, std::move(then))); }
    void remove(std::string_view id, on_done<bool> then) override { data_->remove(id, writing(id, std::move(then))); }

private:
    /// Forgets the user before and after (USER_CACHE-1).
    on_done<bool> writing(std::string_view id, on_done<bool> then) {
        cache_.forget(id);
        return [this, id = std::string(id), then = std::move(then)](outcome<bool> written) {
            cache_.forget(id);
            then(std::move(written));
        };
    }

    const std::unique_ptr<async_store> data_;
    user_cache cache_;
};

class spread_async_store final : public async_store {
public:
    explicit spread_async_store(std::vector<std::unique_ptr<async_store>> parts) : parts_(std::move(parts)) {}

    void get(std::string_view id, on_done<std::optional<user>> then) override { part(id).get(id, std::move(then)); }
    void put(const user& u, on_done<bool> then) override { part(u.id).put(u, std::move(then)); }
    void remove(std::string_view id, on_done<bool> then) override { part(id).remove(id, std::move(then)); }

private:
    async_store& part(std::string_view id) { return *parts_[place_of(id, parts_.size())]; }

    const std::vector<std::unique_ptr<async_store>> parts_;
};

}  // namespace

std::unique_ptr<async_store> make_async_store(loop& in, const options& o) {
    std::vector<std::unique_ptr<async_store>> parts;
    for (const auto& url : o.redis) parts.push_back(std::make_unique<redis_async_store>(in, url));
    switch (o.storage) {
        case storage::redis: return std::move(parts.front());
        case storage::cached: return std::make_unique<cached_async_store>(std::move(parts.front()), o.cache_for);
        case storage::spread: break;
    }
    return std::make_unique<spread_async_store>(std::move(parts));
}

}  // namespace variants
