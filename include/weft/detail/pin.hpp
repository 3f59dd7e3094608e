// pin.hpp - keeps the calling fiber on its carrier while it lives.
#pragma once

namespace weft::detail {

struct control_block;

class pin {
public:
    pin() noexcept;
    ~pin();
    pin(const pin&) = delete;
    pin& operator=(const pin&) = delete;

private:
    control_block* const fiber_;  // null: a plain thread, which stays anyway
};

}  // namespace weft::detail
