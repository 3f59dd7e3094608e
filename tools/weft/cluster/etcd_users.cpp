#include "cluster/etcd_users.hpp"

#include <stdexcept>

#include <weft/etcd/kv.hpp>
#include <weft/http/client.hpp>
#include <weft/tls/context.hpp>

#include <nlohmann/json.hpp>

#include "cluster/permissions.hpp"
#include "http/base64.hpp"

namespace cluster {
namespace {

using nlohmann::json;

std::string base64(const std::string& bytes) {
    std::string text;
    weft::detail::append_base64(text, bytes);
    return text;
}

class administrator {
public:
    administrator(const configuration& c, std::string url)
        : url_(std::move(url)),
          tls_({.certificate_chain = c.file("root.pem"), .private_key = c.file("root.key"), .ca = c.file("ca.pem")}),
          client_({.timeout = std::chrono::seconds(10), .tls = &tls_}) {}

    void ask(const std::string& what, const json& request) {
        const auto answer = client_.post(url_ + "/v3/auth/" + what, request.dump());
        if (!answer.ok()) throw std::runtime_error("cluster: etcd has refused auth/" + what + ": " + answer.body);
    }
    void add_user(const std::string& name, const std::string& password) {
        ask("user/add", {{"name", name}, {"password", password}});
        ask("role/add", {{"name", name}});
        ask("user/grant", {{"user", name}, {"role", name}});
    }
    void permit(const std::string& role, const key_permission& p) {
        const auto range = p.is_prefix ? weft::etcd::key_range::prefix(p.key) : weft::etcd::key_range::one(p.key);
        ask("role/grant", {{"name", role},
                           {"perm",
                            {{"permType", p.may_write ? "READWRITE" : "READ"},
                             {"key", base64(range.first)},
                             {"range_end", base64(range.end)}}}});
    }

private:
    const std::string url_;
    const weft::tls::context tls_;
    weft::http::client client_;
};

}  // namespace

void set_up_users(const configuration& c, const std::string& etcd_url) {
    administrator admin(c, etcd_url);
    admin.add_user("root", c.password_of("root"));
    for (const auto& node : c.nodes) {
        admin.add_user(node, c.password_of(node));
        for (const auto& p : etcd_permissions(c.cluster, node)) admin.permit(node, p);
    }
    admin.ask("enable", json::object());
}

}  // namespace cluster
