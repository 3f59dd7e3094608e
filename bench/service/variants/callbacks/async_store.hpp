// async_store.hpp - the three storages for functions that are called when the answer is there.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "callbacks/loop.hpp"
#include "options.hpp"
#include "store.hpp"

namespace variants {

/// What an operation has brought, or why it failed.
template <class T>
struct outcome {
    T value{};
    std::exception_ptr failure;
};

template <class T>
using on_done = std::function<void(outcome<T>)>;

/// As users::store, for callbacks. Each function is called once, perhaps within the operation; not at
/// all if the store is destroyed first. Ids are used during the call only.
class async_store {
public:
    virtual ~async_store() = default;

    virtual void get(std::string_view id, on_done<std::optional<users::user>> then) = 0;
    virtual void put(const users::user& u, on_done<bool> then) = 0;         ///< true
    virtual void remove(std::string_view id, on_done<bool> then) = 0;       ///< false: there was none
};

/// \throws  std::invalid_argument naming the URL that is wrong.
std::unique_ptr<async_store> make_async_store(loop& in, const options& o);

}  // namespace variants
