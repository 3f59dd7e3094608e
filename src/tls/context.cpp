// context.cpp - tls::context, and TLS as a layer of servers and clients.
#include <weft/tls/context.hpp>

#include <utility>

#include <weft/tls/stream.hpp>

#include "tls/shared.hpp"

namespace weft::tls {

context::context() : context(context_options()) {}
context::context(const context_options& options) : shared_(std::make_shared<detail::tls_shared>(options)) {}
context::~context() = default;

void context::reload(const context_options& options) { shared_->reload(options); }

void context::by_name(std::string_view host, const context_options& options) { shared_->by_name(host, options); }

io::byte_stream context::accept_over(io::byte_stream below) const { return stream::accept(std::move(below), *this); }

io::byte_stream context::connect_over(io::byte_stream below, std::string_view server_name) const {
    return stream::connect(std::move(below), *this, {.server_name = std::string(server_name)});
}

}  // namespace weft::tls
