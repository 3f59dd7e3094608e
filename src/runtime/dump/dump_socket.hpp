// dump_socket.hpp - the unix socket at which a process is asked for dumps.
//
// The socket is abstract: it has no file, so nothing is left behind. A request is one line: `text`
// or `json` for a dump, `hooks` or `hooks-json` for the report of hooked calls. The answer is that text,
// up to the end of the connection. Only the process's own user and root get an answer.
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
        // The name begins with a zero, so it is in the abstract namespace.
        std::memcpy(address.sun_path + 1, name.data(), name.size());
        bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    }

    const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&address); }

    sockaddr_un address = {};
    socklen_t bytes = 0;
};

}  // namespace weft::detail
