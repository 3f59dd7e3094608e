#include "work.hpp"

#include <unistd.h>

#include <functional>

#include <weft/cluster/json.hpp>
#include <weft/simulation.hpp>
#include <weft/weft.hpp>

namespace chaos {

struct job {
    std::string id, filler;
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(job, id, filler)

    [[nodiscard]] bool is_poison() const { return id.ends_with('!'); }
};

}  // namespace chaos

WEFT_WIRE(chaos::job, "chaos.job", 1);

namespace chaos {
namespace {

using namespace std::chrono_literals;
namespace cluster = weft::cluster;
using queue = cluster::work_queue<job>;

constexpr int producers = 2, every_poison = 40;
constexpr std::size_t at_a_time = 8;

/// Until the queue answers: it has three servers, of which several may be away at the start.
std::unique_ptr<queue> open(const std::shared_ptr<cluster::work_store>& store, records& to) {
    const cluster::work_options how{.ack_wait = 10s, .max_deliver = 20, .backoff = {200ms, 1s}, .give_up = 1min};
    for (;; weft::this_fiber::sleep_for(1s)) {
        try {
            return std::make_unique<queue>(store, "jobs", how);
        } catch (const std::exception& why) {
            to.add("trouble open " + on_one_line(why.what()));
        }
    }
}

class worker {
public:
    worker(const std::shared_ptr<cluster::work_store>& store, const options& o, records& to)
        : options_(o), records_(to), jobs_(open(store, to)), dead_(jobs_->dead()) {}

    void run() {
        weft::with_scope([this](weft::scope& s) {
            for (int k = 0; k < producers; ++k) s.spawn([this, k] { produce(k); });
            s.spawn([this] { again_and_again("receive", [this] { receive(); }); });
            s.spawn([this] { again_and_again("dead", [this] { bury(); }); });
        });
    }

private:
    void again_and_again(const std::string& where, const std::function<void()>& f) {
        for (;; weft::this_fiber::sleep_for(1s)) {
            try {
                f();
            } catch (const std::exception& why) {
                records_.add("trouble " + where + ' ' + on_one_line(why.what()));
            }
        }
    }

    void produce(int k) {
        for (int n = 1; ::access(options_.end_of_jobs.c_str(), F_OK) != 0; ++n, weft::this_fiber::sleep_for(100ms)) {
            auto id = options_.self() + '-' + std::to_string(k) + '-' + std::to_string(n);
            if (n % every_poison == 0) id += '!';
            try {
                jobs_->send({.id = id, .filler = std::string(weft::draw(1000), 'x')}, {.id = id});
                records_.add("accepted " + id);
            } catch (const std::exception& why) {
                records_.add("unsure " + id + ' ' + on_one_line(why.what()));
            }
        }
    }

    void receive() {
        weft::with_scope({.on_failure = weft::on_failure::report}, [this](weft::scope& s) {
            for (auto d : jobs_->receive(at_a_time)) s.spawn([this, d = std::move(d)]() mutable { handle_or_say_why(d); });
        });
    }
    void handle_or_say_why(cluster::delivery<job>& d) {
        try {
            handle(d);
        } catch (const std::exception& why) {  // it is delivered again
            records_.add("trouble handle " + on_one_line(why.what()));
        }
    }
    void handle(cluster::delivery<job>& d) {
        if (d->is_poison()) {
            if (weft::draw(2) == 0) d.reject("nobody can handle it");
            return;
        }
        if (options_.planted == fault::acknowledges_first) d.ack_sure();
        weft::this_fiber::sleep_for(std::chrono::milliseconds(weft::draw(200)));
        if (options_.planted == fault::none && weft::draw(50) == 0) return;  // given back
        records_.add("handled " + d->id + ' ' + std::to_string(d.delivered()));
        if (options_.planted == fault::acknowledges_first) return;
        if (weft::draw(2) == 0)
            d.ack();
        else
            d.ack_sure();
    }

    void bury() {
        for (auto d : dead_.receive(1)) {
            records_.add("buried " + d->id + ' ' + on_one_line(d->reason));
            d.ack_sure();
        }
    }

    const options& options_;
    records& records_;
    std::unique_ptr<queue> jobs_;
    cluster::dead_letters dead_;
};

}  // namespace

void work(const std::shared_ptr<cluster::work_store>& store, const options& o, records& to) { worker(store, o, to).run(); }

}  // namespace chaos
