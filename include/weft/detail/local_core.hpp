// local_core.hpp - the compiled half of fiber_local<T>: a key, with one value per fiber.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>

#include <cstdint>
#include <memory>

namespace weft::detail {

class WEFT_EXPORT local_value {
public:
    virtual ~local_value() = default;

private:
    friend struct local_table;
    friend class local_key;
    std::uint64_t key_ = 0;
    std::size_t slot_ = 0;
    local_value* older_ = nullptr;  // the next older value of the same fiber
};

class WEFT_EXPORT local_key {
public:
    local_key();
    ~local_key();
    local_key(const local_key&) = delete;
    local_key& operator=(const local_key&) = delete;

    /// The calling fiber's value under this key, or null.
    local_value* find() const noexcept;
    /// Makes `v` the calling fiber's value. \throws std::bad_alloc
    local_value& keep(std::unique_ptr<local_value> v) const;

private:
    std::uint64_t id_;   // never used twice
    std::size_t slot_;  // reused after its key is destroyed
};

}  // namespace weft::detail
