#include "cluster/linearizability/contender.hpp"

#include <weft/weft.hpp>

#include "cluster/bank.hpp"

namespace linearizability {
namespace {

using namespace std::chrono_literals;
using weft::cluster::name_lease;
using weft::cluster::detail::node_core;

std::chrono::milliseconds up_to(std::uint32_t ms) { return std::chrono::milliseconds(weft::draw(ms)); }

/// An actor that is exposed for one claim, so that the claim can be told by the actor that is found.
class candidate {
public:
    explicit candidate(node_core& by)
        : by_(by),
          at_(weft::cluster::detail::expose(by, weft::spawn_actor<bank::account>(1).ref(),
                                            weft::cluster::detail::wire_table_of<bank::account>::entries)) {}
    ~candidate() { weft::cluster::detail::unexpose(by_, at_); }
    candidate(const candidate&) = delete;
    candidate& operator=(const candidate&) = delete;

    const weft::cluster::detail::remote_address& at() const noexcept { return at_; }

private:
    node_core& by_;
    const weft::cluster::detail::remote_address at_;
};

}  // namespace

void contender::run() {
    while (in_.goes_on()) {
        const auto name = in_.choose();
        try {
            if (weft::draw(3) == 0)
                claim(name);
            else
                find(name);
        } catch (const weft::cluster::error&) {   // without a lease, most often
        } catch (const weft::timeout_error&) {
        } catch (const std::system_error&) {}
        weft::this_fiber::sleep_for(up_to(1500));
    }
}

void contender::find(const std::string& name) {
    recording now(in_.into, {.client = client_, .what = "find", .name = name, .node = in_.node.name()});
    try {
        const auto at = weft::cluster::detail::find_name(in_.node, name);
        now->outcome = "found";
        now->owner = at.node;
        now->owner_life = at.incarnation;
        now->owner_serial = at.serial;
        now->token = at.token;
    } catch (const weft::cluster::error& e) {
        if (e.code() != weft::cluster::errc::unknown_name) return now.drop();
        now->outcome = "nobody";
    } catch (...) {
        now.drop();
        throw;
    }
}

void contender::claim(const std::string& name) {
    const candidate actor(in_.node);
    const operation like{.client = client_,
                         .what = "claim",
                         .name = name,
                         .node = in_.node.name(),
                         .life = actor.at().incarnation,
                         .serial = actor.at().serial};
    if (auto lease = ask_for(like)) own(like, *lease);
}

std::optional<name_lease> contender::ask_for(operation what) {
    weft::cluster::detail::remote_address at{.node = what.node, .incarnation = what.life, .serial = what.serial};
    const auto limit = weft::draw(6) == 0 ? up_to(400) : std::chrono::milliseconds(1min);
    const auto name = what.name;
    recording now(in_.into, std::move(what));
    auto got = weft::with_timeout(limit, [&] { return weft::cluster::detail::claim_name(in_.node, name, at); });
    now->outcome = got ? "ok" : "refused";
    if (got) now->token = got->token();
    now->life_after = in_.node.incarnation();
    return got;
}

/// Looks whether the name is held, and gives it up after a while.
void contender::own(const operation& like, name_lease& lease) {
    const auto about = [&](const char* what) {
        return operation{.client = like.client, .what = what, .name = like.name, .node = like.node, .token = lease.token()};
    };
    const auto release = about("release"), held = about("held");
    struct giving_up {
        ~giving_up() {
            recording now(in.into, what);
            lease.release();
            if (in.store.has_removed(lease.token())) now->outcome = "ok";
        }
        const surroundings& in;
        const operation& what;
        name_lease& lease;
    } const at_the_end{in_, release, lease};
    bool is_held = true;
    for (auto left = weft::draw(weft::draw(2) == 0 ? 40 : 200); left > 0 && is_held && in_.goes_on(); --left) {
        {
            recording now(in_.into, held);
            is_held = lease.held();
            now->outcome = "true";
            if (!is_held) now.drop();
        }
        weft::this_fiber::sleep_for(up_to(400));
    }
}

}  // namespace linearizability
