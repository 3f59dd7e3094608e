// random_keys.hpp - the keys by which a client masks its frames: random, so that no page can choose what
// goes over the wire. [RFC6455, 10.3]
#pragma once

#include <array>
#include <cstring>
#include <random>
#include <string>

#include "ws/mask.hpp"

namespace weft::detail::ws {

/// Random bytes of the system, many for each system call.
class random_keys {
public:
    mask_key next() {
        if (left_ == 0) refill();
        mask_key k;
        std::memcpy(k.data(), &words_[--left_], k.size());
        return k;
    }

private:
    void refill() {
        std::random_device from;
        for (auto& w : words_) w = from();
        left_ = words_.size();
    }

    std::array<std::uint32_t, 32> words_;
    std::size_t left_ = 0;
};

}  // namespace weft::detail::ws
