// stream.cpp - tls::stream over a tls_connection, and its select case.
#include <weft/tls/stream.hpp>

#include <new>
#include <utility>

#include "io/operation.hpp"
#include "io/reporting.hpp"
#include "tls/certificate.hpp"
#include "tls/connection.hpp"

namespace weft::tls {
namespace {

constexpr const char* reading = "weft: TLS read";
constexpr const char* writing = "weft: TLS write";

/// Calls f(connection, error), unless the stream is closed.
template <class F>
auto on(const std::unique_ptr<detail::tls_connection>& c, std::error_code& error, F&& f) -> decltype(f(*c)) {
    if (c) return f(*c);
    error = detail::closed_error();
    return decltype(f(*c))();
}

/// Calls f(error). \throws what the error stands for
template <class F>
auto throwing(const char* what, F&& f) {
    std::error_code error;
    if constexpr (std::is_void_v<decltype(f(error))>) {
        f(error);
        if (error) detail::throw_io_error(error, what);
    } else {
        auto result = f(error);
        if (error) detail::throw_io_error(error, what);
        return result;
    }
}

}  // namespace

stream::stream() noexcept = default;
stream::stream(stream&&) noexcept = default;
stream& stream::operator=(stream&&) noexcept = default;
stream::~stream() = default;
stream::stream(std::unique_ptr<detail::tls_connection> c) noexcept : open_(std::move(c)) {}

stream stream::accept(io::byte_stream below, const context& c) {
    auto made =
        std::make_unique<detail::tls_connection>(std::move(below), *c.shared_, detail::tls_role::server, connect_options());
    made->handshake();
    return stream(std::move(made));
}

stream stream::accept(io::byte_stream below, const context& c, std::error_code& error) {
    return detail::reporting(error, [&] { return accept(std::move(below), c); });
}

stream stream::connect(io::byte_stream below, const context& c, const connect_options& options) {
    auto made = std::make_unique<detail::tls_connection>(std::move(below), *c.shared_, detail::tls_role::client, options);
    made->handshake();
    return stream(std::move(made));
}

stream stream::connect(io::byte_stream below, const context& c, const connect_options& options, std::error_code& error) {
    return detail::reporting(error, [&] { return connect(std::move(below), c, options); });
}

stream stream::connect(const net::endpoint& to, const context& c, const connect_options& options) {
    auto with_name = options;
    if (with_name.server_name.empty()) with_name.server_name = to.host.empty() ? "localhost" : to.host;
    return connect(tcp::stream::connect(to, options.tcp), c, with_name);
}

stream stream::connect(const net::endpoint& to, const context& c, const connect_options& options, std::error_code& error) {
    return detail::reporting(error, [&] { return connect(to, c, options); });
}

std::size_t stream::read_some(std::span<std::byte> into) {
    return throwing(reading, [&](auto& error) { return read_some(into, error); });
}
std::size_t stream::read_some(std::span<std::byte> into, std::error_code& error) {
    return on(open_, error, [&](auto& c) { return c.read_some(into, error); });
}

std::optional<std::size_t> stream::try_read_some(std::span<std::byte> into) {
    return throwing(reading, [&](auto& error) { return try_read_some(into, error); });
}
std::optional<std::size_t> stream::try_read_some(std::span<std::byte> into, std::error_code& error) {
    return on(open_, error, [&](auto& c) { return c.try_read_some(into, error); });
}

void stream::wait_readable() {
    throwing(reading, [&](auto& error) { wait_readable(error); });
}
void stream::wait_readable(std::error_code& error) {
    on(open_, error, [&](auto& c) { c.wait_readable(error); });
}

std::size_t stream::write_some(std::span<const std::byte> from) {
    return throwing(writing, [&](auto& error) { return write_some(from, error); });
}
std::size_t stream::write_some(std::span<const std::byte> from, std::error_code& error) {
    return on(open_, error, [&](auto& c) { return c.write_some(from, error); });
}

std::optional<std::size_t> stream::try_write_some(std::span<const std::byte> from) {
    return throwing(writing, [&](auto& error) { return try_write_some(from, error); });
}
std::optional<std::size_t> stream::try_write_some(std::span<const std::byte> from, std::error_code& error) {
    return on(open_, error, [&](auto& c) { return c.try_write_some(from, error); });
}

void stream::write_all(std::span<const std::byte> from) {
    throwing(writing, [&](auto& error) { return write_all(from, error); });
}
std::size_t stream::write_all(std::span<const std::byte> from, std::error_code& error) {
    return write_all(std::span<const std::span<const std::byte>>(&from, 1), error);
}

void stream::write_all(std::span<const std::span<const std::byte>> pieces) {
    throwing(writing, [&](auto& error) { return write_all(pieces, error); });
}
std::size_t stream::write_all(std::span<const std::span<const std::byte>> pieces, std::error_code& error) {
    return on(open_, error, [&](auto& c) { return c.write_all(pieces, error); });
}

void stream::shutdown(io::side which) {
    throwing("weft: TLS shutdown", [&](auto& error) { shutdown(which, error); });
}
void stream::shutdown(io::side which, std::error_code& error) {
    on(open_, error, [&](auto& c) { c.shutdown(which, error); });
}

void stream::close() noexcept {
    if (open_) open_->close();
}
void stream::abort() noexcept {
    if (open_) open_->abort();
}
bool stream::is_open() const noexcept { return open_ && open_->is_open(); }

std::size_t stream::unacknowledged() const noexcept { return open_ ? open_->unacknowledged() : 0; }
net::endpoint stream::remote() const { return open_ ? open_->remote() : net::endpoint(); }

std::size_t stream::read_late_into(detail::late_buffer& into, std::error_code& error) {
    return on(open_, error, [&](auto& c) { return c.read_late(into, error); });
}
detail::io_source* stream::below() const noexcept { return open_ ? source_of(open_->below()) : nullptr; }

std::string stream::alpn() const {
    if (!open_) return {};
    return open_->with_ssl([](SSL& ssl) {
        const unsigned char* name = nullptr;
        unsigned size = 0;
        SSL_get0_alpn_selected(&ssl, &name, &size);
        return std::string(reinterpret_cast<const char*>(name), size);
    });
}

tls::version stream::version() const {
    const bool newest = open_ && open_->with_ssl([](SSL& ssl) { return SSL_version(&ssl) >= TLS1_3_VERSION; });
    return newest ? tls::version::tls1_3 : tls::version::tls1_2;
}

std::string stream::cipher() const {
    return open_ ? open_->with_ssl([](SSL& ssl) { return std::string(SSL_get_cipher_name(&ssl)); }) : std::string();
}

bool stream::resumed() const {
    return open_ && open_->with_ssl([](SSL& ssl) { return SSL_session_reused(&ssl) == 1; });
}

std::string stream::server_name() const {
    if (!open_) return {};
    return open_->with_ssl([](SSL& ssl) {
        const char* const name = SSL_get_servername(&ssl, TLSEXT_NAMETYPE_host_name);
        return std::string(name ? name : "");
    });
}

std::optional<certificate> stream::peer() const {
    if (!open_) return std::nullopt;
    const detail::x509_ptr found(open_->with_ssl([](SSL& ssl) { return SSL_get1_peer_certificate(&ssl); }));
    if (!found) return std::nullopt;
    return detail::values_of(*found);
}

}  // namespace weft::tls

namespace weft::detail {

void tls_readiness::open() noexcept {
    if (!of_) return;
    below_ = new (std::nothrow) io::byte_readiness(of_->below());
    if (below_) below_->open();
}

void tls_readiness::close() noexcept {
    if (!below_) return;
    below_->close();
    delete below_;
    below_ = nullptr;
}

/// Below there may be only what is no data, such as a ticket: then OpenSSL takes it, and the next look shows that
/// nothing is left. Where that cannot be told it is ready, since a missed event would be worse: if the lock is
/// taken, and over a stream that can be read by waiting only.
select_watch::state tls_readiness::look() noexcept {
    constexpr int rounds = 4;  // chosen: tickets and answers come in one or two
    for (int i = 0; below_ && i < rounds; ++i) {
        const auto seen = below_->look();  // before the attempt: what comes after it is an event (SOURCE-4)
        const auto readable = of_->is_readable_now();
        if (!readable || *readable) break;
        if (seen != state::ready) return seen;
    }
    return state::ready;
}

bool tls_readiness::enlist(waiter& w) noexcept { return below_->enlist(w); }
void tls_readiness::delist(waiter& w) noexcept {
    if (below_) below_->delist(w);
}
time_point tls_readiness::ready_at() const noexcept { return below_ ? below_->ready_at() : never; }

}  // namespace weft::detail
