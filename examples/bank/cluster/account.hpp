// account.hpp - an account as an actor of the cluster: what it does is in the ledger before it is answered.
//
// Its node may be dead for the others and not know it yet, or be frozen and go on later. So each write names
// the revision of the one before: an account is opened by a write with a larger token, and after that the
// ledger refuses all writes of the owner before.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <weft/channel.hpp>
#include <weft/ivar.hpp>

#include "ledger.hpp"
#include "messages.hpp"
#include "record.hpp"

namespace bank {

/// What an account and the node that keeps it share.
struct opening {
    std::string account, node;
    std::int64_t cents_at_first = 0;
    std::shared_ptr<ledger> in;
    std::function<void(const std::string&)> say;
    /// Of the name's lease. The account opens once it is set; what was sent to it before waits.
    weft::ivar<std::uint64_t> token;
    static constexpr std::size_t most_on_their_way = 64;
    /// Transfers that are in the ledger, for the node to deliver in this order.
    weft::channel<transfer> to_deliver{most_on_their_way};
};

class account {
public:
    using remote = weft::cluster::messages<pay, take>;
    /// Of its own node: a transfer has arrived.
    struct delivered {
        std::uint64_t number;
    };

    explicit account(std::shared_ptr<opening> o) : opening_(std::move(o)) {}
    /// \throws std::runtime_error if a later owner has opened it; std::system_error of the ledger
    void started();
    bool handle(const pay&);
    void handle(const take&);
    void handle(delivered);

private:
    void save(record next);

    std::shared_ptr<opening> opening_;
    record now_;
    std::int64_t revision_ = 0;
};

}  // namespace bank
