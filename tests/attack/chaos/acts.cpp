// acts.cpp - the operations: each a few of the vocabulary's calls, any of which may be ended by a stop or a limit.
#include <array>
#include <exception>
#include <stdexcept>

#include "attack/chaos/world.hpp"

using namespace std::chrono_literals;

namespace weft::attack {
namespace {

void send_number(world& w, dice&, unsigned) {
    w.numbers.send(1);
    ++w.of_numbers.sent;
}

void receive_number(world& w, dice&, unsigned) {
    if (w.numbers.receive()) ++w.of_numbers.received;
}

void send_object(world& w, dice&, unsigned) {
    w.objects.send(object());
    ++w.of_objects.sent;
}

void receive_object(world& w, dice&, unsigned) {
    if (w.objects.receive()) ++w.of_objects.received;
}

void meet(world& w, dice& d, unsigned) {
    if (d.one_in(2)) {
        w.meeting.send(1);
        ++w.of_meeting.sent;
    } else if (w.meeting.receive()) {
        ++w.of_meeting.received;
    }
}

void select_some(world& w, dice& d, unsigned) {
    object mine;
    select(on_receive(w.numbers, [&](auto n) { w.of_numbers.received += n ? 1 : 0; }),
           on_send(w.objects, std::ref(mine), [&] { ++w.of_objects.sent; }), on_timeout(d.up_to(800)));
}

void select_others(world& w, dice& d, unsigned) {
    select(on_receive(w.objects, [&](auto o) { w.of_objects.received += o ? 1 : 0; }),
           on_receive(w.meeting, [&](auto n) { w.of_meeting.received += n ? 1 : 0; }),
           on_send(w.numbers, 1, [&] { ++w.of_numbers.sent; }), on_timeout(d.up_to(500)));
}

void hold_lock(world& w, dice& d, unsigned) {
    std::unique_lock held(w.lock, std::defer_lock);
    if (d.one_in(2)) {
        held.lock();
    } else if (!held.try_lock_for(d.up_to(300))) {
        return;
    }
    const long seen = w.under_lock;
    if (d.one_in(3)) this_fiber::yield();
    w.under_lock = seen + 1;
    ++w.under_lock_expected;
}

void hold_shared(world& w, dice& d, unsigned) {
    if (d.one_in(3)) {
        std::lock_guard held(w.shared_lock);
        ++w.under_shared;
        ++w.under_shared_expected;
        return;
    }
    std::shared_lock held(w.shared_lock);
    const long seen = w.under_shared;
    if (d.one_in(4)) this_fiber::sleep_for(d.up_to(50));
    if (w.under_shared != seen) ++w.too_many;
}

class entry {
public:
    explicit entry(world& w) : w_(w) {
        if (++w_.inside > world::permits) ++w_.too_many;
    }
    ~entry() {
        --w_.inside;
        w_.room.release();
    }
    entry(const entry&) = delete;
    entry& operator=(const entry&) = delete;

private:
    world& w_;
};

void enter_room(world& w, dice& d, unsigned) {
    if (d.one_in(2)) {
        w.room.acquire();
    } else if (!w.room.try_acquire_for(d.up_to(200))) {
        return;
    }
    const entry here(w);
    if (d.one_in(2)) this_fiber::sleep_for(d.up_to(200));
}

void wait_for_change(world& w, dice& d, unsigned) {
    std::unique_lock held(w.lock);
    w.changed.wait_for(held, d.up_to(600), [&] { return d.one_in(4); });
}

void ring(world& w, dice& d, unsigned) {
    w.changed.notify_one();
    w.bell.set();
    static_cast<void>(w.bell.wait_for(d.up_to(300)));
}

void rest(world&, dice& d, unsigned) { this_fiber::sleep_for(d.up_to(2000)); }

void open_scope(world& w, dice& d, unsigned depth) {
    if (depth >= 3) return;
    with_scope([&](scope& children) {
        for (unsigned i = d.below(5); i > 0; --i)
            children.spawn([&w, depth] {
                dice own(++w.parties);
                act(w, own, depth + 1);
            });
        if (d.one_in(4)) children.request_stop();
        if (d.one_in(9)) throw std::runtime_error("a scope's body fails");
    });
}

void block(world&, dice& d, unsigned) {
    const bool long_one = d.one_in(3);
    blocking([long_one] {
        if (long_one) std::this_thread::sleep_for(100us);
    });
}

void nest_limits(world& w, dice& d, unsigned) {
    with_deadline(std::chrono::steady_clock::now() + d.up_to(500), [&] {
        with_timeout(1ms, [&] {
            if (w.meeting.receive()) ++w.of_meeting.received;
        });
    });
}

void shield_rest(world&, dice& d, unsigned) {
    const shield here(d.up_to(400));
    this_fiber::sleep_for(d.up_to(300));
}

void ask_over_tcp(world& w, dice& d, unsigned) {
    auto peer = tcp::stream::connect(w.listener.local());
    if (d.one_in(8)) peer.set_reset_on_close(true);
    peer.write_all(std::string_view("hello").substr(0, 1 + d.below(5)));
    std::array<std::byte, 5> answer;
    std::error_code error;
    with_timeout(100us + d.up_to(3000), [&] { peer.read_exact(answer, error); });
}

void generate(world&, dice& d, unsigned) {
    generator<int> numbers([&](yielder<int>& yield) {
        for (int i = 0; i < 4; ++i) {
            yield(i);
            if (d.one_in(3)) this_fiber::yield();
        }
    });
    const int last = static_cast<int>(d.below(5));  // 4: to the end
    for (const int n : numbers)
        if (n == last) break;
}

void compute(world&, dice& d, unsigned) {
    if (!d.one_in(30)) return;
    const auto until = std::chrono::steady_clock::now() + 6ms;
    while (std::chrono::steady_clock::now() < until) {}
}

using operation = void (*)(world&, dice&, unsigned depth);
constexpr std::array<operation, 20> operations = {send_number, receive_number,  send_object,  receive_object, meet,
                                                  select_some, select_others,   hold_lock,    hold_shared,    enter_room,
                                                  ring,        wait_for_change, rest,         open_scope,     block,
                                                  nest_limits, shield_rest,     ask_over_tcp, generate,       compute};

void one_operation(world& w, dice& d, unsigned depth) {
    ++w.operations;
    const operation chosen = operations[d.below(operations.size())];
    try {
        if (d.one_in(6)) {
            with_timeout(d.up_to(2000), [&] { chosen(w, d, depth); });
        } else {
            chosen(w, d, depth);
        }
    } catch (const std::exception&) {  // a limit, a reset, a scope that failed: nothing is lost by any
    }
}

}  // namespace

void act(world& w, dice& d, unsigned depth) {
    for (unsigned i = 1 + d.below(6); i > 0; --i) one_operation(w, d, depth);
}

void act_as_thread(world& w, dice& d) {
    constexpr std::array<operation, 6> fit = {send_number, receive_number, select_some, select_others, enter_room, ring};
    try {
        with_timeout(300us, [&] { fit[d.below(fit.size())](w, d, 0); });
    } catch (const timeout_error&) {}
    ++w.operations;
}

void serve(world& w) {
    with_scope({.on_failure = on_failure::report}, [&](scope& connections) {
        for (;;)
            connections.spawn([&w, peer = w.listener.accept()]() mutable {
                dice d(++w.parties);
                std::array<std::byte, 5> bytes;
                std::error_code error;
                const auto n = peer.read_exact(bytes, error);
                switch (d.below(4)) {
                    case 0: peer.set_reset_on_close(true); break;
                    case 1: this_fiber::sleep_for(1ms); break;
                    default: peer.write_all(std::span<const std::byte>(bytes).first(n), error);
                }
            });
    });
}

}  // namespace weft::attack
