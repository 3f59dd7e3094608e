// as_thread.hpp - makes the calling fiber a thread of its own during the lifetime of the object.
#pragma once

#include <cstdint>

#include <weft/detail/export.hpp>

namespace weft::detail {

struct control_block;

class [[nodiscard]] WEFT_EXPORT as_thread_scope {
public:
    as_thread_scope();
    ~as_thread_scope();
    as_thread_scope(const as_thread_scope&) = delete;
    as_thread_scope& operator=(const as_thread_scope&) = delete;

private:
    enum class kept : std::uint8_t { nothing, identity, own_carrier };

    // null on a plain thread, and in a fiber that is a thread already
    control_block* fiber_;
    kept has_ = kept::nothing;
};

}  // namespace weft::detail
