// stream.hpp - an answer that goes on and on: JSON objects, each on a line of its own.
#pragma once

#include <cstddef>
#include <string>

#include <weft/http/transfer.hpp>

#include "etcd/json.hpp"

namespace weft::detail::etcd {

class stream {
public:
    stream(http::transfer t, std::size_t most_bytes) : transfer_(std::move(t)), most_(most_bytes) {}

    /// \parks   until an object is there. A half one is never returned.
    /// \throws  failed: unavailable at the end of the answer, and what the object says if it is an error.
    json next();

private:
    http::transfer transfer_;
    std::size_t most_;
    std::string read_;         // what was read and not returned
    std::size_t looked_at_ = 0;  // has no end of a line before
};

}  // namespace weft::detail::etcd
