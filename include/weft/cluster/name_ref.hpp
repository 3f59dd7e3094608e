// name_ref.hpp - a reference to whichever actor has a name of the cluster.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <weft/cluster/detail/name_finder.hpp>
#include <weft/cluster/node.hpp>
#include <weft/cluster/remote_ref.hpp>
#include <weft/detail/timeouts.hpp>

namespace weft::cluster {

/// Whether an ask may be handled twice.
enum class retry : bool {
    never_twice,  ///< it is sent again only if it was surely not handled
    idempotent    ///< it is also sent again if it may have been handled: to handle it twice is as to handle it once
};

/// A reference to a name: it looks up its owner, remembers it, and looks up again when that one is gone, is
/// unreachable, or has lost the name, until the limit of the send or ask. A message reaches only an actor that has the name when the message arrives. Copies share
/// what they remember; all fibers may use it at once.
///
///     weft::cluster::name_ref<account> ann(me, "bank/ann");
///     int cents = ann.ask(account::balance{}, 5s);  // also while ann moves from one node to another
template <class A>
class name_ref {
public:
    /// \throws error: bad_name, no_names, closed
    name_ref(const node& by, std::string_view name) : finder_(std::make_shared<detail::name_finder>(detail::core_of(by), name)) {}

    /// Sends a message to the owner. The limit is a duration or a point in time. A message that is under way
    /// while the owner goes is lost.
    /// \parks   until the name has an owner, and as remote_ref::send().
    /// \throws  timeout_error, whose text says what was the trouble; error as of remote_ref::send().
    template <class M, weft::detail::time_limit Limit>
        requires detail::remotely_takes<A, M>
    void send(const M& m, const Limit& limit) const {
        with_owner(limit, retry::never_twice, [&](const detail::remote_address& to, weft::detail::time_point until) {
            detail::remote_send(finder_->by(), to, detail::outgoing::of(m), until);
            return true;
        });
    }
    /// Asks the owner, and waits for what its handler returns. The limit is a duration or a point in time.
    /// \parks   until the name has an owner, and the message is answered.
    /// \throws  as send(); error with maybe_handled() if the owner went while it was handling the message, unless
    ///          the ask is idempotent; as of remote_ref::ask() otherwise.
    template <class M, weft::detail::time_limit Limit>
        requires detail::remotely_takes<A, M>
    auto ask(const M& m, const Limit& limit, retry how = retry::never_twice) const {
        using R = weft::detail::reply_of<A, M>;
        const auto answer = with_owner(limit, how, [&](const detail::remote_address& to, weft::detail::time_point until) {
            return detail::remote_ask(finder_->by(), to, detail::outgoing::of(m), until);
        });
        if constexpr (!std::is_void_v<R>) return detail::read_answer<R>(answer);
    }
    /// \returns  the actor that has the name now.
    /// \parks    until the name has an owner. \throws as send()
    template <weft::detail::time_limit Limit>
    [[nodiscard]] remote_ref<A> owner(const Limit& limit) const {
        return {finder_->shared(), owner_address(limit)};
    }

    [[nodiscard]] const std::string& name() const noexcept { return finder_->name(); }

private:
    template <class Limit>
    detail::remote_address owner_address(const Limit& limit) const {
        int tries = 0;
        return finder_->owner(weft::detail::deadline_of(limit), tries);
    }
    template <class Limit, class F>
    auto with_owner(const Limit& limit, retry how, F&& f) const {
        const auto until = weft::detail::deadline_of(limit);
        for (int tries = 0;; ++tries) {
            const auto to = finder_->owner(until, tries);
            try {
                return f(to, until);
            } catch (const error& e) {
                if (!finder_->give_up(to, e, how == retry::idempotent)) throw;
            } catch (const actor_gone& e) {  // before the message arrived
                finder_->give_up(to, e.what());
            }
        }
    }

    std::shared_ptr<detail::name_finder> finder_;
};

}  // namespace weft::cluster
