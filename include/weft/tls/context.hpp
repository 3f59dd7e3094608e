// context.hpp - certificates, trust and limits, which many TLS connections share.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <weft/detail/export.hpp>
#include <weft/io/stream_layer.hpp>

namespace weft::tls {

/// Which certificate a peer must have.
enum class peer_check {
    /// A server must have a valid one, a client need not have one.
    by_role,
    none,      ///< whatever the peer has is accepted: for tests only, since the peer may be anyone
    optional,  ///< a client may have none; one that it has must be valid
    required,
};

enum class version { tls1_2, tls1_3 };

/// Certificates and keys are given as PEM text, or as the path of a file with it, which may begin with
/// `file:`.
struct context_options {
    /// This end's certificate, followed by those of the authorities between it and a trusted one. A
    /// server needs it; a client only if the server asks for it.
    std::string certificate_chain = {};
    /// The key of the first certificate.
    std::string private_key = {};
    std::string private_key_password = {};  ///< if the key is encrypted
    /// The authorities that are trusted, and lists of what they have revoked. Empty: those of the system; a server
    /// that checks its clients must name them.
    std::string ca = {};
    peer_check verify = peer_check::by_role;
    /// The protocols to choose from by ALPN, the best first. A client that offers others only is
    /// refused by a server; empty: there is no choice, and none is made.
    std::vector<std::string> alpn = {};
    version least = version::tls1_2;
    /// The cipher suites of TLS 1.2, as OpenSSL names them. Those of 1.3 are all good.
    std::string ciphers = "ECDHE+AESGCM:ECDHE+CHACHA20";
    /// For how long a client may resume a session without the costly part of the handshake. Zero:
    /// never.
    std::chrono::seconds session_life = std::chrono::hours(2);
    /// At least 32 random bytes, from which a server makes the keys of session tickets, new ones each hour.
    /// Servers with the same secret resume each other's sessions: the processes of a prefork::run(), for
    /// example. Empty: a random one, which only this context has.
    std::string ticket_secret = {};
};

}  // namespace weft::tls

namespace weft::detail {
class tls_shared;
}

namespace weft::tls {

/// What TLS connections have in common: certificates, trust, tickets and sessions.
///
///     weft::tls::context context({.certificate_chain = "server.pem", .private_key = "server.key"});
///     server.listen({.port = 8443}, {.tls = &context});
///
/// Any fiber or thread may use it at any time, reload() included. Connections keep what they need of
/// it, so it may be destroyed before them. See docs/guide/22-tls.md.
class WEFT_EXPORT context final : public io::stream_layer {
public:
    /// A client's that trusts the authorities of the system.
    context();
    /// \throws  std::system_error for a file that cannot be read; std::invalid_argument, which names
    ///          the option and says what is wrong with it.
    /// \blocks  to read files.
    explicit context(const context_options& options);
    ~context() override;
    context(const context&) = delete;
    context& operator=(const context&) = delete;

    /// Replaces the options, for new handshakes; connections go on as they are. What by_name() has added
    /// stays, and so do the keys of tickets unless the options name a secret. If it throws, nothing
    /// has changed.
    ///
    /// \throws  what the constructor throws.
    /// \blocks  to read files.
    void reload(const context_options& options);

    /// Sets the certificate of a server for clients that ask for this host name (SNI). A name of the
    /// form `*.example.org` is that of each host one level below. A second call with the same name
    /// replaces the first. session_life and ticket_secret are those of the context.
    ///
    /// \throws  what the constructor throws, also for an empty host.
    /// \blocks  to read files.
    void by_name(std::string_view host, const context_options& options);

    io::byte_stream accept_over(io::byte_stream below) const override;
    io::byte_stream connect_over(io::byte_stream below, std::string_view server_name) const override;

private:
    friend class stream;

    std::shared_ptr<detail::tls_shared> shared_;
};

}  // namespace weft::tls
