// pin.hpp - keeps the calling fiber on its carrier during the lifetime of the object.
#pragma once

#include <weft/detail/export.hpp>

namespace weft::detail {

struct control_block;

class [[nodiscard]] WEFT_EXPORT pin {
public:
    pin() noexcept;
    ~pin();
    pin(const pin&) = delete;
    pin& operator=(const pin&) = delete;

private:
    // Null on a plain thread, which cannot migrate.
    control_block* const fiber_;
};

}  // namespace weft::detail
