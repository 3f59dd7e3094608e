#include "cluster/permissions.hpp"

#include "bank/cluster/etcd_ledger.hpp"

namespace cluster {

namespace {

std::string quoted_list(const std::string& cluster, const std::vector<std::string>& own, const shared_subjects& shared) {
    std::string text;
    const auto add = [&](const std::string& rest) { text += (text.empty() ? "\"w." : ", \"w.") + cluster + "." + rest + "\""; };
    for (const auto& subject : own) add(subject);
    for (const auto& g : shared.groups) add("g." + g);
    for (const auto& t : shared.topics) add("t." + t);
    return text;
}

}  // namespace

std::string nats_permissions(const std::string& cluster, const std::string& node, const shared_subjects& shared) {
    const auto publish = quoted_list(cluster, {"n.*.*." + node, "f.*"}, shared);
    const auto subscribe = quoted_list(cluster, {"n." + node + ".*.*", "f." + node, "r." + node + ".*.*"}, shared);
    return "permissions: {\n"
           "    publish: { allow: [" +
           publish +
           "] }\n"
           "    subscribe: { allow: [" +
           subscribe + ", \"_INBOX." + node +
           ".>\"] }\n"
           "    allow_responses: { max: 1, expires: \"5m\" }\n"
           "}\n";
}

std::vector<key_permission> etcd_permissions(const std::string& cluster, const std::string& node) {
    const auto keys = "/weft/" + cluster + "/";
    return {{.key = keys, .is_prefix = true},
            {.key = keys + "node/" + node, .may_write = true},
            {.key = keys + "name/", .is_prefix = true, .may_write = true},
            {.key = keys + "state/", .is_prefix = true, .may_write = true},  // of placed actors
            {.key = bank::etcd_ledger::prefix_of(cluster), .is_prefix = true, .may_write = true}};
}

}  // namespace cluster
