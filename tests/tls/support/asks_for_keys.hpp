// asks_for_keys.hpp - a client of TLS that asks for new keys, again and again, and reads no answer.
#pragma once

#include <fcntl.h>
#include <openssl/ssl.h>

#include <atomic>

#include <weft/blocking.hpp>
#include <weft/net/tcp.hpp>

#include "tls/ssl.hpp"

namespace weft::test {

/// \parks  until `ends`, or until the server has ended the connection.
inline void ask_for_keys(tcp::stream& through, const std::atomic<bool>& ends) {
    const int fd = through.native_handle();
    weft::blocking([&] {
        ::fcntl(fd, F_SETFL, 0);
        const detail::ssl_context_ptr context(SSL_CTX_new(TLS_client_method()));
        const detail::ssl_ptr ssl(SSL_new(context.get()));
        SSL_set_fd(ssl.get(), fd);
        if (SSL_connect(ssl.get()) != 1) return;
        while (!ends && SSL_key_update(ssl.get(), SSL_KEY_UPDATE_REQUESTED) == 1 && SSL_do_handshake(ssl.get()) == 1) {}
    });
}

}  // namespace weft::test
