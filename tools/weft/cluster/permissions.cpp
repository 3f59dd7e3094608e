#include "cluster/permissions.hpp"

#include <algorithm>

#include "bank/cluster/etcd_ledger.hpp"

namespace cluster {

namespace {

std::string quoted(const std::vector<std::string>& subjects) {
    std::string text;
    for (const auto& s : subjects) text += (text.empty() ? "\"" : ", \"") + s + "\"";
    return text;
}

/// What over_jetstream.hpp asks JetStream for a queue. It is all that a node needs, and more than its own name should
/// allow: the configuration of a stream can name any subjects (guide 27).
void add_queue(std::vector<std::string>& publish, const std::string& subject) {
    auto stream = subject;
    std::ranges::replace(stream, '.', '~');
    publish.push_back(subject);
    for (const char* const call : {"INFO", "CREATE", "UPDATE"})
        publish.push_back(std::string("$JS.API.STREAM.") + call + "." + stream);
    for (const char* const call : {"INFO", "DURABLE.CREATE", "MSG.NEXT"})
        publish.push_back(std::string("$JS.API.CONSUMER.") + call + "." + stream + ".work");
    publish.push_back("$JS.ACK." + stream + ".work.>");
}

}  // namespace

std::string nats_permissions(const std::string& cluster, const std::string& node, const shared_subjects& shared) {
    const auto of_cluster = "w." + cluster + ".";
    std::vector<std::string> publish{of_cluster + "n.*.*." + node, of_cluster + "f.*"},
        subscribe{of_cluster + "n." + node + ".*.*", of_cluster + "f." + node, of_cluster + "r." + node + ".*.*"};
    for (auto* const both : {&publish, &subscribe}) {
        for (const auto& g : shared.groups) both->push_back(of_cluster + "g." + g);
        for (const auto& t : shared.topics) both->push_back(of_cluster + "t." + t);
    }
    for (const auto& q : shared.queues)
        for (const char* const part : {"", ".dead"}) add_queue(publish, of_cluster + "q." + q + part);
    subscribe.push_back("_INBOX." + node + ".>");
    return "permissions: {\n"
           "    publish: { allow: [" +
           quoted(publish) +
           "] }\n"
           "    subscribe: { allow: [" +
           quoted(subscribe) +
           "] }\n"
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
