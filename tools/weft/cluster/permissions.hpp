// permissions.hpp - what a node of a cluster may do at the servers, and no other node in its name.
//
// They follow from the subjects (src/cluster/subject.hpp) and the keys (src/cluster/membership.hpp) of a
// cluster.
#pragma once

#include <string>
#include <vector>

namespace cluster {

/// What nodes of a cluster share: each of them may join the groups and write to them, and so with the topics,
/// and with the work queues, which are in JetStream. Their messages do not say who has sent them.
struct shared_subjects {
    std::vector<std::string> groups, topics, queues;
};

/// The block of a user in the configuration of nats-server. The last word of the subject of a batch is who
/// sends it, so a node that may publish only where that is its own name cannot write as another one; and it
/// reads only what is for itself. What it answers within five minutes to a request needs no permission of its
/// own.
std::string nats_permissions(const std::string& cluster, const std::string& node, const shared_subjects& = {});

/// Keys that an etcd user may read, or write as well; with `is_prefix` all that begin so.
struct key_permission {
    std::string key;
    bool is_prefix = false, may_write = false;
};
/// A node writes its own key below node/ and no other's; names below name/ are for all to claim, and the
/// accounts of the bank example are for all to keep.
std::vector<key_permission> etcd_permissions(const std::string& cluster, const std::string& node);

}  // namespace cluster
