#include "stores.hpp"

#include <string>
#include <utility>
#include <vector>

#include "placement.hpp"
#include "redis_store.hpp"
#include "user_cache.hpp"

namespace variants {
namespace {

using users::store;
using users::user;

class cached_store final : public store {
public:
    cached_store(std::unique_ptr<store> data, std::chrono::nanoseconds lifetime) : data_(std::move(data)), cache_(lifetime) {}

    std::optional<user> get(std::string_view id) override {
        if (auto known = cache_.find(id)) return known;
        const auto seen = cache_.writes();
        auto read = data_->get(id);
        if (read) cache_.keep(*read, seen);
        return read;
    }

    void put(const user& u) override {
        const writing here(cache_, u.id);
        data_->put(u);
    }

    bool remove(std::string_view id) override {
        const writing here(cache_, id);
        return data_->remove(id);
    }

private:
    /// Forgets the user before and after, also if the write fails (USER_CACHE-1).
    class writing {
    public:
        writing(user_cache& cache, std::string_view id) : cache_(cache), id_(id) { cache_.forget(id_); }
        ~writing() { cache_.forget(id_); }
        writing(const writing&) = delete;
        writing& operator=(const writing&) = delete;

    private:
        user_cache& cache_;
        const std::string_view id_;
    };

    const std::unique_ptr<store> data_;
    user_cache cache_;
};

class spread_store final : public store {
public:
    explicit spread_store(std::vector<std::unique_ptr<store>> parts) : parts_(std::move(parts)) {}

    std::optional<user> get(std::string_view id) override { return part(id).get(id); }
    void put(const user& u) override { part(u.id).put(u); }
    bool remove(std::string_view id) override { return part(id).remove(id); }

private:
    store& part(std::string_view id) { return *parts_[place_of(id, parts_.size())]; }

    const std::vector<std::unique_ptr<store>> parts_;
};

}  // namespace

std::unique_ptr<store> make_store(const options& o) {
    std::vector<std::unique_ptr<store>> parts;
    for (const auto& url : o.redis) parts.push_back(std::make_unique<users::redis_store>(url));
    switch (o.storage) {
        case storage::redis: return std::move(parts.front());
        case storage::cached: return std::make_unique<cached_store>(std::move(parts.front()), o.cache_for);
        case storage::spread: break;
    }
    return std::make_unique<spread_store>(std::move(parts));
}

}  // namespace variants
