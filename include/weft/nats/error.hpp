// error.hpp - what can go wrong with a NATS client, as error codes and exceptions.
#pragma once

#include <string>
#include <system_error>

#include <weft/deadline.hpp>
#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>

namespace weft::nats {

enum class nats_errc {
    not_connected = 1,  ///< there is no connection; what() says why the last attempt has failed
    connection_lost,    ///< it was lost before the answer came; the server may have acted
    closed,             ///< the client, or the subscription, is closed
    protocol_error,     ///< the server breaks the rules of NATS
    authorization,      ///< the server refuses the credentials
    server_error,       ///< the server has answered with -ERR
    no_responders,      ///< no one has subscribed to the subject of a request
    bad_subject,        ///< an empty token, a blank, a control byte, or a wildcard where none may be
    bad_header,         ///< a name that is not printable, a colon in it, or CR or LF
    payload_too_large,  ///< more than the server takes (max_payload)
    buffer_full,        ///< no room in client_options::pending_bytes
    no_headers,         ///< the server does not take headers
    no_tls,             ///< TLS is asked for without client_options::tls
    bad_nkey,           ///< a seed that is none, or its file may be read by others
    no_nkeys,           ///< weft was built without OpenSSL
    server_too_old,     ///< JetStream of this server loses acknowledged messages
    jetstream_error,    ///< JetStream refuses; what() has its reason
};

WEFT_EXPORT const std::error_category& error_category() noexcept;

inline std::error_code make_error_code(nats_errc e) noexcept { return {static_cast<int>(e), error_category()}; }

/// A call has failed; what() says why, and names the server if the connection is the cause.
class WEFT_EXPORT error : public std::system_error {
public:
    error(nats_errc code, const std::string& reason) : std::system_error(make_error_code(code), reason) {}
};

/// A request to a subject that no one has subscribed to; the server says so at once.
class WEFT_EXPORT no_responders : public error {
public:
    explicit no_responders(const std::string& subject)
        : error(nats_errc::no_responders, "no one answers requests to " + subject) {}
};

using weft::timeout_error;

}  // namespace weft::nats

template <>
struct std::is_error_code_enum<weft::nats::nats_errc> : std::true_type {};
