// dump_socket.hpp - where a process that serves dumps is asked for them: a unix socket without a file, so that nothing is left behind.
//
// A request is one line, `text` or `json`; the answer is the dump, up to the end of the connection. Others than the process's own user
// and root get none.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>
#include <string>

namespace weft::detail {

struct dump_socket {
    explicit dump_socket(int process) noexcept {
        const std::string name = "weft-dump-" + std::to_string(process);
        address.sun_family = AF_UNIX;
        std::memcpy(address.sun_path + 1, name.data(), name.size());  // begins with a zero: in the abstract
        bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    }

    const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&address); }

    sockaddr_un address = {};
    socklen_t bytes = 0;
};

}  // namespace weft::detail
