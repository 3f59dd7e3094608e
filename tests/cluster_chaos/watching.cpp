#include "watching.hpp"

#include <atomic>
#include <functional>

#include <weft/cluster/json.hpp>
#include <weft/simulation.hpp>
#include <weft/weft.hpp>

namespace chaos {

/// Asks an actor which one it is.
struct who {
    using reply = std::string;
    friend void to_json(nlohmann::json& j, const who&) { j = nlohmann::json::object(); }
    friend void from_json(const nlohmann::json&, who&) {}
};

}  // namespace chaos

WEFT_WIRE(chaos::who, "chaos.who", 1);

namespace chaos {
namespace {

using namespace std::chrono_literals;
namespace cluster = weft::cluster;

/// What the other nodes watch.
class watched {
public:
    using remote = cluster::messages<who>;

    explicit watched(std::string id) : id_(std::move(id)) {}
    const std::string& handle(const who&) const { return id_; }
    void handle(const weft::linked_exit&) {}  // it does not end with the actors that are linked to it

private:
    std::string id_;
};

/// Is linked with a watched one, and told of its end.
class witness {
public:
    using remote = cluster::messages<>;

    witness(records& to, std::string number, bool is_silent, weft::event& told)
        : records_(to), number_(std::move(number)), is_silent_(is_silent), told_(told) {}
    void handle(const weft::linked_exit& e) {
        if (!is_silent_) records_.add("told " + number_ + ' ' + on_one_line(e.reason.what()));
        told_.set();
    }

private:
    records& records_;
    std::string number_;
    const bool is_silent_;
    weft::event& told_;
};

class watcher {
public:
    watcher(const std::shared_ptr<cluster::transport>& words, const std::shared_ptr<cluster::name_store>& names, const options& o,
            records& to)
        : options_(o),
          records_(to),
          me_({.name = o.name,
               .cluster = "watched",
               .words = words,
               .names = names,
               .lease = o.lease_time(),
               .give_up = o.lease_time()}) {}

    void run() {
        const auto lasting = give_birth("lasting");
        expose(lasting);
        weft::with_scope([this](weft::scope& s) {
            s.spawn([this] { live_and_die(); });
            s.spawn([this] { tell_incarnations(); });
            for (const auto& peer : options_.peers)
                for (const char* const actor : {"lasting", "mortal"}) {
                    s.spawn([&, actor] { again_and_again(peer, actor, &watcher::monitor); });
                    s.spawn([&, actor] { again_and_again(peer, actor, &watcher::link); });
                }
        });
    }

private:
    weft::actor_ref<watched> give_birth(const char* name) {
        const auto id = options_.self() + '.' + std::to_string(++born_);
        records_.add("born " + id);
        newest_ = id;
        return weft::spawn_actor<watched>({.name = name}, id);
    }

    /// Waits for a lease.
    void expose(const weft::actor_ref<watched>& actor) {
        for (;; weft::this_fiber::sleep_for(100ms)) {
            try {
                me_.expose(actor);
                return;
            } catch (const cluster::error& why) {
                if (why.code() != cluster::errc::no_lease) throw;
            }
        }
    }

    void live_and_die() {
        for (;;) {
            const auto actor = give_birth("mortal");
            const auto id = newest_;
            expose(actor);
            weft::this_fiber::sleep_for(5s + 1ms * weft::draw(15'000));
            auto end = actor.monitor();
            actor.kill();
            (void)end.receive();
            records_.add("died " + id);
        }
    }

    void tell_incarnations() {
        for (std::uint64_t said = ~std::uint64_t{0};; weft::this_fiber::sleep_for(200ms))
            if (const auto now = me_.incarnation(); now != said) records_.add("incarnation " + std::to_string(said = now));
    }

    using watching = void (watcher::*)(const cluster::remote_ref<watched>&, const std::string& number, const std::string& actor);

    void again_and_again(const std::string& peer, const char* name, watching once) {
        for (;; weft::this_fiber::sleep_for(100ms + 1ms * weft::draw(400))) {
            try {
                const auto actor = me_.find<watched>(peer, name, 3s);
                const auto number = std::to_string(++watches_);
                (this->*once)(actor, number, actor.ask(who{}, 3s));
            } catch (const std::exception&) {  // it is away: the judge sees by the end that all are watched again
            }
        }
    }

    void begin(const char* how, const std::string& number, const std::string& id, const cluster::remote_ref<watched>& actor) {
        records_.add("watch " + number + ' ' + how + ' ' + id + ' ' + std::to_string(actor.incarnation()));
    }
    void tell(const std::string& number, const std::string& why) {
        for (int n = options_.planted == fault::tells_twice ? 2 : 1; n > 0; --n)
            records_.add("told " + number + ' ' + on_one_line(why));
    }

    void monitor(const cluster::remote_ref<watched>& actor, const std::string& number, const std::string& id) {
        auto end = actor.monitor();
        begin("monitor", number, id, actor);
        while (const auto why = end.receive()) tell(number, why->what());
        records_.add("closed " + number);
    }

    void link(const cluster::remote_ref<watched>& actor, const std::string& number, const std::string& id) {
        weft::event told;
        const bool is_silent = options_.planted == fault::tells_nobody && weft::draw(5) == 0;
        const auto here = weft::spawn_actor<witness>({.name = "witness"}, std::ref(records_), number, is_silent, std::ref(told));
        struct ending {
            ~ending() {
                const weft::shield until_its_end;
                auto end = actor.monitor();
                actor.stop();
                (void)end.receive();
            }
            const weft::actor_ref<witness>& actor;
        } const at_the_end{here};
        begin("link", number, id, actor);
        try {
            cluster::link(here, actor);
        } catch (const std::exception& why) {
            if (!told.is_set()) records_.add("unlinked " + number + ' ' + on_one_line(why.what()));
            throw;
        }
        told.wait();
        weft::this_fiber::sleep_for(1s);  // a second word would come now
    }

    const options& options_;
    records& records_;
    static inline std::atomic<int> born_ = 0, watches_ = 0;  // of all watchers of the process
    std::string newest_;
    cluster::node me_;
};

}  // namespace

void watch(const std::shared_ptr<cluster::transport>& words, const std::shared_ptr<cluster::name_store>& names, const options& o,
           records& to) {
    watcher(words, names, o, to).run();
}

}  // namespace chaos
