// local.cpp - fiber-local values in C.
#include <weft/detail/local_core.hpp>

#include <memory>

#include "capi/status.hpp"

namespace weft::capi {
namespace {

/// What the opaque pointer of a weft_local points to.
struct local_in_c {
    detail::local_key key;
    void (*const destroy)(void* value);
};

/// The value of one fiber. It may live longer than its key.
class value_in_c final : public detail::local_value {
public:
    explicit value_in_c(void (*destroy)(void*)) noexcept : destroy_(destroy) {}
    ~value_in_c() override {
        if (value && destroy_) destroy_(value);
    }

    void* value = nullptr;

private:
    void (*const destroy_)(void*);
};

local_in_c* behind(const weft_local* key) noexcept { return key ? static_cast<local_in_c*>(key->opaque) : nullptr; }

}  // namespace
}  // namespace weft::capi

using namespace weft::capi;

weft_status weft_local_create(weft_local* key, void (*destroy)(void* value)) {
    if (!key) return refuse("weft_local_create", "the key is null");
    return guarded([&]() -> weft_status {
        key->opaque = new local_in_c{.key = {}, .destroy = destroy};
        return WEFT_OK;
    });
}

void* weft_local_get(const weft_local* key) {
    const auto* const k = behind(key);
    const auto* const known = k ? static_cast<value_in_c*>(k->key.find()) : nullptr;
    return known ? known->value : nullptr;
}

weft_status weft_local_set(const weft_local* key, void* value) {
    auto* const k = behind(key);
    if (!k) return refuse("weft_local_set", "the key is null");
    return guarded([&]() -> weft_status {
        auto* known = static_cast<value_in_c*>(k->key.find());
        if (!known) known = &static_cast<value_in_c&>(k->key.keep(std::make_unique<value_in_c>(k->destroy)));
        known->value = value;
        return WEFT_OK;
    });
}

void weft_local_destroy(weft_local* key) {
    delete behind(key);
    if (key) key->opaque = nullptr;
}
