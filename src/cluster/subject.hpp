// subject.hpp - the subjects of a cluster's messages, and how a subscription matches them.
//
//  w.CLUSTER.n.TO.TO_INCARNATION.FROM    batches between two nodes (batch.hpp)
//  w.CLUSTER.f.NODE                      requests for a reference to an actor by its name
//  w.CLUSTER.g.GROUP                     to one member of a group
//  w.CLUSTER.t.TOPIC                     to all subscribers of a topic
//  w.CLUSTER.r.NODE.INCARNATION.*        answers to what a node has asked for, and refusals by the transport
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weft::cluster::detail {

bool subject_matches(std::string_view pattern, std::string_view subject) noexcept;

/// \throws error (bad_name) unless the name has 1 to 64 letters, digits, `-` and `_`
void require_name(std::string_view what, std::string_view name);

/// Of groups and topics. \throws error (bad_name) unless it has words as above with dots between them
void require_subject(std::string_view what, std::string_view name);

/// Of names that are claimed. \throws error (bad_name) unless it has 1 to 200 letters, digits and `-_./`
void require_long_name(std::string_view name);

std::string batch_subject(std::string_view cluster, std::string_view to, std::uint64_t incarnation, std::string_view from);
std::string find_subject(std::string_view cluster, std::string_view node);
std::string reply_subject(std::string_view cluster, std::string_view node, std::uint64_t incarnation);
std::string group_subject(std::string_view cluster, std::string_view group);
std::string topic_subject(std::string_view cluster, std::string_view topic);
std::string_view last_word(std::string_view subject) noexcept;

}  // namespace weft::cluster::detail
