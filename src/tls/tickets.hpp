// tickets.hpp - the keys of a server's session tickets, a new one each hour.
//
// The keys of an hour are made from one secret and the number of the hour [RFC5869, the second step].
// So processes with the same secret agree on them without a word between them, and none is ever
// written down.
#pragma once

#include <openssl/evp.h>
#include <openssl/ssl.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <weft/detail/annotated_locks.hpp>

#include "base/spin_lock.hpp"

namespace weft::detail {

struct ticket_keys {
    std::array<unsigned char, 16> name;  // in the ticket, so that its keys are found again
    std::array<unsigned char, 32> cipher;
    std::array<unsigned char, 32> mac;
};

class tls_tickets {
public:
    /// \param secret  empty: a random one. \throws std::invalid_argument if it is short
    explicit tls_tickets(std::string_view secret);

    /// Hours since 1970.
    static std::int64_t this_hour() noexcept;

    /// The keys with which tickets are made in that hour. \returns empty if OpenSSL fails.
    std::optional<ticket_keys> of_hour(std::int64_t hour) const noexcept;
    /// The keys with that name, if they are those of that hour or one of the two before it.
    std::optional<ticket_keys> find(const unsigned char* name, std::int64_t hour) const noexcept;

    /// Gives OpenSSL the keys to make a ticket, or to open the one that has keys of that name.
    /// \returns  1; 2 if the ticket should be replaced; 0 if its keys are not known; -1 on failure.
    int set_keys(unsigned char* name, unsigned char* start, EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac, bool makes) const noexcept;

private:
    static constexpr unsigned hours_kept = 3;  // this one and two before it

    struct keys_of_hour {
        std::int64_t hour = std::numeric_limits<std::int64_t>::min();
        ticket_keys keys{};
    };

    keys_of_hour& place_of(std::int64_t hour) const noexcept WEFT_REQUIRES(lock_) {
        return kept_[static_cast<std::uint64_t>(hour) % hours_kept];  // a clock may stand before 1970
    }
    std::optional<ticket_keys> kept(std::int64_t hour) const noexcept;

    std::string secret_;
    std::unique_ptr<EVP_CIPHER, void (*)(EVP_CIPHER*)> cipher_;
    // Three HMACs cost 10 us, and a resumed handshake asks for the keys twice.
    mutable spin_lock lock_;
    mutable std::array<keys_of_hour, hours_kept> kept_ WEFT_GUARDED_BY(lock_);
};

}  // namespace weft::detail
