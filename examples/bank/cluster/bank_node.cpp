#include "bank_node.hpp"

#include <atomic>
#include <mutex>
#include <optional>
#include <stop_token>

#include <weft/simulation.hpp>
#include <weft/weft.hpp>

#include "account.hpp"

namespace bank {
namespace {

using namespace std::chrono_literals;
namespace cluster = weft::cluster;

constexpr auto look_again = 250ms;  // chosen: how soon a name that is free is noticed
constexpr auto ask_limit = 2s;

std::string name_of(const std::string& account) { return "bank/" + account; }

/// Tells the books to whoever has the name of the auditor.
class auditor {
public:
    using remote = cluster::messages<report>;

    explicit auditor(const node_options& o) : ledger_(o.ledger), cents_at_first_(o.cents_at_first) {}
    std::string handle(const report&) { return in_words(books_of(ledger_->all()), cents_at_first_); }

private:
    std::shared_ptr<ledger> ledger_;
    std::int64_t cents_at_first_;
};

class bank_node {
public:
    explicit bank_node(const node_options& o)
        : options_(o),
          me_({.name = o.name, .cluster = o.cluster, .words = o.words, .names = o.names, .lease = o.lease, .give_up = o.lease}) {}

    void run() {
        if (me_.incarnation() == 0)
            options_.say("has no lease yet: the store of names does not answer, or still has an earlier life");
        weft::with_scope([this](weft::scope& s) {
            // From another one on each node, so that nodes rarely want the same one at the same time.
            const auto n = options_.accounts.size(), first = static_cast<std::size_t>(weft::draw(static_cast<std::uint32_t>(n)));
            for (std::size_t i = 0; i < n; ++i) {
                const auto& account = options_.accounts[(first + i) % n];
                s.spawn([this, &account] { whenever_free(name_of(account), [&] { keep(account); }); });
            }
            s.spawn([this] { whenever_free("bank/auditor", [&] { audit(); }); });
            if (options_.accounts.size() > 1) s.spawn([this] { move_money(); });
        });
    }

private:
    bool is_free(const std::string& name) {
        try {
            (void)me_.find<account>(name);
            return false;
        } catch (const cluster::error& e) {
            if (e.code() == cluster::errc::unknown_name) return true;
            throw;
        }
    }

    /// Calls f() each time that nobody has the name. What f() throws is tried again, as is a store out of
    /// reach.
    template <class F>
    void whenever_free(const std::string& name, F&& f) {
        for (;; weft::this_fiber::sleep_for(look_again)) {
            try {
                if (!is_free(name)) continue;
            } catch (const std::exception&) {  // the store is out of reach
                continue;
            }
            try {
                f();
            } catch (const std::exception& why) {
                options_.say(name + ": " + why.what());
            }
        }
    }

    /// Claims a name for an actor, and acts while it is held. The actor has ended when it returns.
    template <class A, class Act>
    void own(const std::string& name, const weft::actor_ref<A>& actor, Act&& act) {
        auto end = actor.monitor();
        struct ending {
            ~ending() {
                const weft::shield until_its_end;
                actor.kill();
                (void)end.receive();
            }
            const weft::actor_ref<A>& actor;
            weft::receiver<weft::exit_reason>& end;
        };
        std::optional<cluster::name_lease> lease;
        const ending before_the_lease_goes{actor, end};
        std::unique_lock turn(claiming_);
        if (!is_free(name)) return;  // another node was faster while this fiber waited for its turn
        // The one that has least comes first. So the accounts spread, and a newcomer takes what becomes free.
        weft::this_fiber::sleep_for(50ms + 150ms * owned_.load() + 1ms * weft::draw(50));
        lease = me_.claim(name, me_.expose(actor));
        if (!lease) return;
        const std::stop_callback at_its_end(lease->stop_token(), [&] { actor.kill(); });
        struct counted {
            explicit counted(std::atomic<int>& c) : count(c) { ++count; }
            ~counted() { --count; }
            std::atomic<int>& count;
        } const one_more(owned_);
        turn.unlock();
        act(*lease, end);
        if (!lease->held()) options_.say("has lost " + name);
    }

    void keep(const std::string& name) {
        const auto o = std::make_shared<opening>();
        o->account = name;
        o->node = options_.name;
        o->cents_at_first = options_.cents_at_first;
        o->in = options_.ledger;
        o->say = options_.say;
        const auto actor = weft::spawn_actor<account>({.name = name}, o);
        own(name_of(name), actor, [&](const cluster::name_lease& lease, weft::receiver<weft::exit_reason>& end) {
            o->token.set(lease.token());
            weft::with_scope([&](weft::scope& s) {
                s.spawn([&] { deliver(name, *o, actor); });
                const auto why = end.receive();
                s.request_stop();
                if (lease.held() && why) options_.say(name + ": " + why->what());
            });
        });
    }

    /// One after the other, each until it is answered (RECORD-3).
    void deliver(const std::string& from, opening& o, const weft::actor_ref<account>& by) {
        for (const transfer& t : o.to_deliver) {
            while (!try_deliver(from, t)) weft::this_fiber::sleep_for(look_again);
            by.try_send(account::delivered{t.number});
        }
    }

    bool try_deliver(const std::string& from, const transfer& t) {
        try {
            me_.find<account>(name_of(t.to)).ask(take{.from = from, .number = t.number, .cents = t.cents}, ask_limit);
            return true;
        } catch (const std::exception&) {  // it may have been taken: it has a number
            return false;
        }
    }

    void move_money() {
        for (;; weft::this_fiber::sleep_for(options_.pause)) {
            const auto n = static_cast<std::uint32_t>(options_.accounts.size());
            const auto from = weft::draw(n), to = (from + 1 + weft::draw(n - 1)) % n;
            try {
                me_.find<account>(name_of(options_.accounts[from]))
                    .ask(pay{.to = options_.accounts[to], .cents = 1 + weft::draw(300)}, ask_limit);
            } catch (const std::exception&) {  // it may have been done: so it is not asked for again
            }
        }
    }

    void audit() {
        const auto actor = weft::spawn_actor<auditor>({.name = "auditor"}, options_);
        own("bank/auditor", actor, [&](const cluster::name_lease& lease, auto&) {
            options_.say("is the auditor");
            for (; lease.held(); weft::this_fiber::sleep_for(options_.report_every)) options_.say(actor.ask(report{}));
        });
    }

    const node_options& options_;
    cluster::node me_;
    weft::mutex claiming_;
    std::atomic<int> owned_ = 0;
};

}  // namespace

void run_node(const node_options& o) { bank_node(o).run(); }

}  // namespace bank
