// info.cpp - the two texts of JSON by which a connection begins: INFO and CONNECT.
#include "nats/json.hpp"
#include "nats/nkey.hpp"
#include "nats/server_list.hpp"

namespace weft::detail::nats {

weft::nats::server_info parse_info(std::string_view json, std::string& nonce, bool& tls_required) {
    const auto all = parse_object(json, "INFO");
    weft::nats::server_info info;
    info.id = member<std::string>(all, "server_id");
    info.name = member<std::string>(all, "server_name");
    info.version = member<std::string>(all, "version");
    info.host = member<std::string>(all, "host");
    info.port = static_cast<std::uint16_t>(member<std::uint64_t>(all, "port"));
    info.max_payload = member<std::size_t>(all, "max_payload", std::size_t{1} << 20);
    info.headers = member<bool>(all, "headers");
    info.jetstream = member<bool>(all, "jetstream");
    info.lame_duck = member<bool>(all, "ldm");
    nonce = member<std::string>(all, "nonce");
    tls_required = member<bool>(all, "tls_required");
    if (const auto urls = all.find("connect_urls"); urls != all.end() && urls->is_array())
        for (const auto& u : *urls)
            if (u.is_string()) info.connect_urls.push_back(u.get<std::string>());
    return info;
}

std::string connect_line(const weft::nats::client_options& of, const server_url& url, std::string_view nonce, bool tls) {
    nlohmann::json c{{"verbose", false}, {"pedantic", false}, {"tls_required", tls}, {"name", of.name}, {"lang", "weft"},
                     {"version", "0.1"}, {"protocol", 1},     {"echo", of.echo},     {"headers", true}, {"no_responders", true}};
    const auto& user = url.user.empty() ? of.user : url.user;
    const auto& password = url.user.empty() ? of.password : url.password;
    const auto& token = url.token.empty() ? of.token : url.token;
    if (!user.empty()) {
        c["user"] = user;
        c["pass"] = password;
    }
    if (!token.empty()) c["auth_token"] = token;
    if (!of.nkey.empty() && !nonce.empty()) {
        const auto proof = sign_nonce(of.nkey, nonce);
        c["nkey"] = proof.public_key;
        c["sig"] = proof.signature;
    }
    return "CONNECT " + c.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\r\n";
}

}  // namespace weft::detail::nats
