// tickets.hpp - the keys of a server's session tickets, a new one each hour.
//
// The keys of an hour are made from one secret and the number of the hour [RFC5869, the second step]. So
// processes with the same secret agree on them without a word between them, and none is ever stored.
#pragma once

#include <openssl/ssl.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft::detail {

struct ticket_keys {
    std::array<unsigned char, 16> name;  // in the ticket, so that its keys are found again
    std::array<unsigned char, 32> cipher;
    std::array<unsigned char, 32> mac;
};

class tls_tickets {
public:
    /// \param secret  empty: a random one.
    explicit tls_tickets(std::string_view secret);

    /// The keys with which tickets are made now. \returns empty if OpenSSL fails.
    std::optional<ticket_keys> current() const noexcept;
    /// The keys with that name, if they are those of this hour or one of the two before it.
    std::optional<ticket_keys> find(const unsigned char* name) const noexcept;

    /// Has the tickets of `context` made with these keys. *this must stay as long as its connections.
    void use_in(SSL_CTX& context);

private:
    std::optional<ticket_keys> of_hour(std::int64_t hour) const noexcept;

    std::string secret_;
};

}  // namespace weft::detail
