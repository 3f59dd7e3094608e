#include <weft/cluster/error.hpp>

namespace weft::cluster {
namespace {

class cluster_category final : public std::error_category {
public:
    const char* name() const noexcept override { return "weft.cluster"; }
    std::string message(int code) const override {
        switch (static_cast<errc>(code)) {
            case errc::bad_name: return "a bad name";
            case errc::unreachable: return "the node is unreachable";
            case errc::node_gone: return "the node is gone";
            case errc::unknown_message: return "the actor takes no such message from other nodes";
            case errc::bad_version: return "no version of the message is known to both nodes";
            case errc::too_large: return "the message is too large";
            case errc::not_exposed: return "the node exposes no such actor";
            case errc::wrong_actor: return "the actor is of another type";
            case errc::bad_message: return "the bytes are no message of that type";
            case errc::failed_remotely: return "the handler on the other node failed";
            case errc::expired: return "the ask expired before the message was handled";
            case errc::not_answered: return "the actor did not answer";
            case errc::no_names: return "the node has no store of names";
            case errc::no_lease: return "the node has no lease now";
            case errc::not_owner: return "the actor does not have the name any more";
            case errc::unknown_name: return "nobody has the name now";
            case errc::closed: return "the node was closed";
        }
        return "an unknown failure of a cluster";
    }
};

}  // namespace

const std::error_category& error_category() noexcept {
    static const cluster_category one;
    return one;
}

}  // namespace weft::cluster
