#include "cluster/permissions.hpp"

#include "bank/cluster/etcd_ledger.hpp"

namespace cluster {

std::string nats_permissions(const std::string& cluster, const std::string& node) {
    const auto at = "\"w." + cluster + ".";
    return "permissions: {\n"
           "    publish: { allow: [" +
           at + "n.*.*." + node + "\", " + at +
           "f.*\"] }\n"
           "    subscribe: { allow: [" +
           at + "n." + node + ".*.*\", " + at + "f." + node + "\", " + at + "r." + node + ".*.*\", \"_INBOX." + node +
           ".>\"] }\n"
           "    allow_responses: { max: 1, expires: \"30s\" }\n"
           "}\n";
}

std::vector<key_permission> etcd_permissions(const std::string& cluster, const std::string& node) {
    const auto keys = "/weft/" + cluster + "/";
    return {{.key = keys, .is_prefix = true},
            {.key = keys + "node/" + node, .may_write = true},
            {.key = keys + "name/", .is_prefix = true, .may_write = true},
            {.key = bank::etcd_ledger::prefix_of(cluster), .is_prefix = true, .may_write = true}};
}

}  // namespace cluster
