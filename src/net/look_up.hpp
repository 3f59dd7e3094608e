// look_up.hpp - the system's look-up of a name, for what runs it on a thread.
#pragma once

#include <cstdint>
#include <string>
#include <system_error>
#include <vector>

#include <weft/net/endpoint.hpp>

namespace weft::detail {

struct name_answer {
    std::vector<net::endpoint> addresses;
    std::error_code error;  // in net::resolve_category(), or of the system
};

/// Blocks the calling thread.
name_answer look_up_name(const std::string& host, std::uint16_t port);

}  // namespace weft::detail
