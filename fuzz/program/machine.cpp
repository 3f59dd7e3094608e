#include "program/machine.hpp"

#include <time.h>

namespace weft::fuzz {
namespace {

using std::chrono::microseconds;

microseconds limit_of(const statement& s) { return microseconds(s.us); }
nanoseconds after(std::uint16_t us) { return history::time() + nanoseconds{us} * 1000; }

std::unique_ptr<any_channel> made(const channel_kind& k, plant wrong) {
    if (k.owns) return std::make_unique<channel_of<owned_number>>(k.capacity, wrong);
    return std::make_unique<channel_of<std::uint64_t>>(k.capacity, wrong);
}

}  // namespace

machine::machine(const program_text& text, history& h, plant wrong)
    : text_(text), history_(h), wrong_(wrong), permits_(text.permits) {
    for (std::size_t i = 0; i < channels_.size(); ++i) channels_[i] = made(text.channels[i], wrong);
}

void machine::start() {
    for (const auto& b : text_.fibers) {
        auto& log = history_.new_book(-1);
        first_.push_back({weft::spawn([this, &log, &b] { body(log, b, nullptr, -1); }), log.number});
    }
}

bool machine::first_have_ended() const noexcept {
    return std::ranges::all_of(first_, [](const handle& h) { return h.fiber.done(); });
}

void machine::let_go(bool all_have_ended) {
    for (auto& h : first_)
        if (!all_have_ended) h.fiber.detach();
    first_.clear();
}

void machine::take_what_is_left() {
    frame last{history_.new_book(-1)};
    for (unsigned i = 0; i < channel_count; ++i) {
        const auto one = [&] {
            return perform(last, {.what = deed::receive, .how = form::tries, .object = i},
                           [&](operation& op) { return channels_[i]->receive(op.value, form::tries, {}); });
        };
        while (one() == ending::done) {}
    }
    last.log.ended = history_.now();
}

// ---- fibers

void machine::body(book& log, const block& b, weft::scope* scope, int scope_number) {
    struct ended {
        history& h;
        book& log;
        ~ended() { log.ended = h.now(); }
    } const mark{history_, log};
    frame f{log, scope, scope_number};
    try {
        run(f, b);
        end_handles(f, log.number % 2 == 0);
    } catch (const planned_failure&) {
        log.failed = history_.now();
        end_handles(f, false);
        throw;
    } catch (const weft::cancelled&) {
        end_handles(f, false);
        throw;
    }
}

void machine::end_handles(frame& f, bool join) {
    while (!f.handles.empty()) {
        end_one(f, f.handles.back(), join ? deed::join : deed::drop);
        f.handles.pop_back();
    }
}

/// Writes down what `act` does, which is given the entry. A `cancelled` goes on.
template <class Act>
ending machine::perform(frame& f, operation op, Act&& act) {
    auto& all = f.log.operations;
    const auto at = all.size();
    op.from = history::time();
    op.begun = history_.now();
    all.push_back(std::move(op));
    const auto over = [&](ending e) {
        all[at].until = history::time();
        all[at].over = history_.now();
        return all[at].ended = e;
    };
    operation entry = all[at];  // others' operations may be added meanwhile, and move the list
    try {
        const auto e = act(entry);
        all[at].value = entry.value;
        return over(e);
    } catch (const weft::cancelled&) {
        over(ending::cancelled);
        throw;
    } catch (const weft::channel_closed&) {
        return over(ending::closed);
    } catch (const planned_failure&) {
        return over(ending::failed);
    }
}

void machine::run(frame& f, const block& b) {
    for (const auto& s : b) {
        if (left_.fetch_sub(1, std::memory_order_relaxed) <= 0) return;
        run(f, s);
    }
}

void machine::run(frame& f, const statement& s) {
    const auto simple = [&](deed d, auto act) {
        perform(f, {.what = d, .object = s.object}, [&](operation&) {
            act();
            return ending::done;
        });
    };
    switch (s.what) {
        case verb::send: return send(f, s, form::waits);
        case verb::try_send: return send(f, s, form::tries);
        case verb::send_for: return send(f, s, form::timed);
        case verb::receive: return receive(f, s, form::waits);
        case verb::try_receive: return receive(f, s, form::tries);
        case verb::receive_for: return receive(f, s, form::timed);
        case verb::close:
            if (s.object % 4 != 0) return;  // a program whose channels are all closed soon does little
            perform(f, {.what = deed::close, .object = s.us % channel_count}, [&](operation& op) {
                channels_[op.object]->close();
                return ending::done;
            });
            return;
        case verb::select:
        case verb::select_all: return select(f, s);
        case verb::lock: return lock(f, s, form::waits);
        case verb::try_lock: return lock(f, s, form::tries);
        case verb::lock_for: return lock(f, s, form::timed);
        case verb::put: return put(f, false);
        case verb::put_quietly: return put(f, true);
        case verb::take: return take(f, s, form::waits);
        case verb::take_for: return take(f, s, form::timed);
        case verb::acquire: return acquire(f, s, form::waits);
        case verb::acquire_or_alarm: return acquire(f, s, form::alarmed);
        case verb::try_acquire: return acquire(f, s, form::tries);
        case verb::acquire_for: return acquire(f, s, form::timed);
        case verb::release:
            return simple(deed::release, [&] {
                if (wrong_ == plant::lost_permit && s.object % 2 == 0) return;
                permits_.release();
            });
        case verb::set:
        case verb::reset: {
            const auto which = s.object % event_count;
            perform(f, {.what = s.what == verb::set ? deed::set : deed::reset, .object = which}, [&](operation&) {
                auto& e = which == 0 ? manual_ : automatic_;
                if (s.what == verb::reset)
                    e.reset();
                else if (wrong_ != plant::lost_set || s.us != 0)
                    e.set();
                return ending::done;
            });
            return;
        }
        case verb::wait: return wait(f, s, form::waits);
        case verb::try_wait: return wait(f, s, form::tries);
        case verb::wait_for: return wait(f, s, form::timed);
        case verb::wait_or_alarm: return wait(f, s, form::alarmed);
        case verb::spawn: return spawn(f, s);
        case verb::join:
        case verb::join_for:
        case verb::drop:
        case verb::detach:
        case verb::stop: return with_handle(f, s);
        case verb::scope: return scope(f, s);
        case verb::stop_scope:
            if (!f.scope) return;
            perform(f, {.what = deed::stop_scope, .object = static_cast<unsigned>(f.scope_number)}, [&](operation&) {
                f.scope->request_stop();
                return ending::done;
            });
            return;
        case verb::group:
        case verb::group_for: return group(f, s);
        case verb::yield: return simple(deed::yield, [] { weft::this_fiber::yield(); });
        case verb::sleep: return sleep(f, s);
        case verb::timeout: return timeout(f, s);
        case verb::shield: return shield(f, s);
        case verb::repeat:
            for (unsigned i = 1 + s.object % 4; i > 0; --i) run(f, s.bodies[0]);
            return;
        case verb::fail:
            if (s.object % 4 == 0) throw planned_failure();
            return;
        case verb::alarm: return simple(deed::alarm, [&] { alarm_.request_stop(); });
    }
}

// ---- channels

std::uint64_t next_value(book& log) { return (std::uint64_t{log.number} << 32) + ++log.sent; }

void machine::send(frame& f, const statement& s, form how) {
    const auto which = s.object % channel_count;
    perform(f,
            {.what = deed::send,
             .how = how,
             .object = which,
             .value = next_value(f.log),
             .limit = how == form::timed ? after(s.us) : no_limit},
            [&](operation& op) { return channels_[which]->send(op.value, how, limit_of(s)); });
}

void machine::receive(frame& f, const statement& s, form how) {
    const auto which = s.object % channel_count;
    perform(f, {.what = deed::receive, .how = how, .object = which, .limit = how == form::timed ? after(s.us) : no_limit},
            [&](operation& op) { return channels_[which]->receive(op.value, how, limit_of(s)); });
}

weft::select_case machine::make(frame& f, const arm& a, std::size_t at, std::size_t index) {
    const auto entry = [&f, at, index]() -> case_log& { return f.log.operations[at].cases[index]; };
    const auto note = [entry] { entry().chosen = true; };
    switch (a.what) {
        case arm::kind::receive:
            return channels_[entry().object]->receiving([entry](std::optional<std::uint64_t> v) {
                auto& c = entry();
                c.chosen = true;
                c.closed = !v;
                c.received = v.value_or(0);
            });
        case arm::kind::send: return channels_[entry().object]->sending(entry().value, note);
        case arm::kind::timeout: return weft::on_timeout(microseconds(a.us), note);
        case arm::kind::otherwise: return weft::otherwise(note);
        case arm::kind::alarm: return weft::on_stop(alarm_.get_token(), note);
        case arm::kind::join: break;
    }
    return weft::on_join(f.handles[a.object % f.handles.size()].fiber, note);
}

void machine::select(frame& f, const statement& s) {
    operation op{.what = deed::select};
    for (const auto& a : s.arms) {
        if (a.what == arm::kind::join && f.handles.empty()) continue;
        case_log c{.what = a.what, .object = static_cast<std::uint8_t>(a.object % channel_count)};
        if (a.what == arm::kind::send) c.value = next_value(f.log);
        if (a.what == arm::kind::join) c.value = f.handles[a.object % f.handles.size()].number;
        if (a.what == arm::kind::timeout) op.limit = std::min(op.limit, after(a.us));
        op.cases.push_back(c);
    }
    const auto at = f.log.operations.size();
    std::vector<weft::select_case> cases;
    perform(f, op, [&](operation&) {
        std::size_t index = 0;
        for (const auto& a : s.arms)
            if (a.what != arm::kind::join || !f.handles.empty()) cases.push_back(make(f, a, at, index++));
        if (s.what == verb::select_all)
            static_cast<void>(weft::select_all(cases));
        else
            static_cast<void>(weft::select(cases));
        return ending::done;
    });
}

// ---- locks and what is counted

/// A mutex, which is unlocked in a book's sight.
struct machine::held {
    machine& m;
    frame& f;
    unsigned which;
    bool open;
    ~held() {
        m.perform(f, {.what = deed::unlock, .object = which}, [this](operation&) {
            if (!open) m.mutexes_[which].unlock();
            return ending::done;
        });
    }
};

void machine::lock(frame& f, const statement& s, form how) {
    const unsigned which = s.object;
    auto& m = mutexes_[which];
    const bool open = wrong_ == plant::open_mutex && counted_.fetch_add(1) % 4 == 0;
    const auto got =
        perform(f, {.what = deed::lock, .how = how, .object = which, .limit = how == form::timed ? after(s.us) : no_limit},
                [&](operation&) {
                    if (open) return ending::done;
                    if (how == form::tries) return m.try_lock() ? ending::done : ending::not_now;
                    if (how == form::timed) return m.try_lock_for(limit_of(s)) ? ending::done : ending::timeout;
                    m.lock();
                    return ending::done;
                });
    if (got != ending::done) return;
    const held guard{*this, f, which, open};
    run(f, s.bodies[0]);
}

void machine::put(frame& f, bool quietly) {
    perform(f, {.what = deed::put}, [&](operation&) {
        if (wrong_ == plant::lost_wake_up) {
            token_added_.notify_one();
            const std::lock_guard too_late(box_);
            ++tokens_;
            return ending::done;
        }
        std::unique_lock guard(box_);
        ++tokens_;
        if (!quietly) guard.unlock();
        token_added_.notify_one();
        return ending::done;
    });
}

void machine::take(frame& f, const statement& s, form how) {
    perform(f, {.what = deed::take, .how = how, .limit = how == form::timed ? after(s.us) : no_limit}, [&](operation&) {
        std::unique_lock guard(box_);
        const auto is_there = [&] { return tokens_ > 0; };
        if (how == form::waits)
            token_added_.wait(guard, is_there);
        else if (!token_added_.wait_for(guard, limit_of(s), is_there))
            return ending::timeout;
        --tokens_;
        return ending::done;
    });
}

void machine::acquire(frame& f, const statement& s, form how) {
    perform(f, {.what = deed::acquire, .how = how, .limit = how == form::timed ? after(s.us) : no_limit}, [&](operation&) {
        switch (how) {
            case form::waits: permits_.acquire(); return ending::done;
            case form::tries: return permits_.try_acquire() ? ending::done : ending::not_now;
            case form::timed: return permits_.try_acquire_for(limit_of(s)) ? ending::done : ending::timeout;
            case form::alarmed: break;
        }
        return permits_.acquire(alarm_.get_token()) ? ending::done : ending::alarmed;
    });
}

void machine::wait(frame& f, const statement& s, form how) {
    const auto which = s.object % event_count;
    const auto& e = which == 0 ? manual_ : automatic_;
    perform(f, {.what = deed::wait, .how = how, .object = which, .limit = how == form::timed ? after(s.us) : no_limit},
            [&](operation&) {
                switch (how) {
                    case form::waits: e.wait(); return ending::done;
                    case form::tries: return e.try_wait() ? ending::done : ending::not_now;
                    case form::timed: return e.wait_for(limit_of(s)) ? ending::done : ending::timeout;
                    case form::alarmed: break;
                }
                return e.wait(alarm_.get_token()) ? ending::done : ending::alarmed;
            });
}

// ---- fibers of fibers

void machine::spawn(frame& f, const statement& s) {
    auto& log = history_.new_book(-1);
    perform(f, {.what = deed::spawn, .value = log.number}, [&](operation&) {
        const weft::attributes how{.priority = s.flag ? weft::priority::low : weft::priority::normal};
        f.handles.push_back({weft::spawn(how, [this, &log, &s] { body(log, s.bodies[0], nullptr, -1); }), log.number});
        return ending::done;
    });
}

void machine::end_one(frame& f, handle& h, deed d) {
    perform(f, {.what = d, .value = h.number}, [&](operation&) {
        if (d == deed::drop) {
            h.fiber = {};
            return ending::done;
        }
        try {
            h.fiber.join();
        } catch (const weft::cancelled&) {
            if (h.fiber.joinable()) throw;  // else that is how its body ended
            return ending::failed;
        }
        return ending::done;
    });
}

void machine::with_handle(frame& f, const statement& s) {
    if (f.handles.empty()) return;
    const auto at = f.handles.begin() + s.object % static_cast<std::ptrdiff_t>(f.handles.size());
    switch (s.what) {
        case verb::join:
        case verb::drop:
            end_one(f, *at, s.what == verb::join ? deed::join : deed::drop);
            f.handles.erase(at);
            return;
        case verb::join_for:
            perform(f, {.what = deed::join, .how = form::timed, .value = at->number, .limit = after(s.us)},
                    [&](operation&) { return at->fiber.join_for(limit_of(s)) ? ending::done : ending::timeout; });
            return;
        case verb::detach:
            at->fiber.detach();
            f.handles.erase(at);
            return;
        default:
            perform(f, {.what = deed::stop, .value = at->number}, [&](operation&) {
                at->fiber.request_stop();
                return ending::done;
            });
    }
}

void machine::scope(frame& f, const statement& s) {
    const int number = history_.new_scope(f.log.number);
    auto& log = history_.scope(number);
    perform(f, {.what = deed::scope_end, .object = static_cast<unsigned>(number)}, [&](operation&) {
        weft::with_scope({.on_failure = s.flag ? weft::on_failure::report : weft::on_failure::stop_all}, [&](weft::scope& inner) {
            for (std::size_t i = 1; i < s.bodies.size(); ++i) {
                auto& child = history_.new_book(number);
                const auto start = [this, &child, &b = s.bodies[i], &inner, number] { body(child, b, &inner, number); };
                if (wrong_ == plant::forgotten_fiber)
                    weft::spawn_detached([this, &child, &b = s.bodies[i], number] { body(child, b, nullptr, number); });
                else
                    inner.spawn(start);
            }
            auto* const outer = std::exchange(f.scope, &inner);
            const int outer_number = std::exchange(f.scope_number, number);
            const auto back = [&] {
                f.scope = outer;
                f.scope_number = outer_number;
            };
            try {
                run(f, s.bodies[0]);
                back();
            } catch (const planned_failure&) {
                log.body_failed = history_.now();
                back();
                throw;
            } catch (...) {
                back();
                throw;
            }
        });
        return ending::done;
    });
}

/// Whoever is counted: it is so until its end, however it ends.
struct machine::member {
    machine& m;
    frame& f;
    weft::wait_group& under_way;
    unsigned number;
    ~member() {
        m.perform(f, {.what = deed::group_done, .object = number}, [this](operation&) {
            under_way.done();
            return ending::done;
        });
    }
};

void machine::group(frame& f, const statement& s) {
    const unsigned number = history_.new_group();
    const auto members = s.bodies.size();
    weft::wait_group under_way(static_cast<std::ptrdiff_t>(members));
    std::vector<handle> crew;
    const auto end_crew = [&] {
        for (auto& h : crew) end_one(f, h, deed::drop);
    };
    for (const auto& b : s.bodies) {
        auto& log = history_.new_book(-1);
        crew.push_back({weft::spawn([this, &log, &b, &under_way, number] {
                            frame mine{log};
                            const member one{*this, mine, under_way, number};
                            body(log, b, nullptr, -1);
                        }),
                        log.number});
    }
    try {
        const bool timed = s.what == verb::group_for;
        perform(f,
                {.what = deed::group_wait,
                 .how = timed ? form::timed : form::waits,
                 .object = number,
                 .value = members,
                 .limit = timed ? after(s.us) : no_limit},
                [&](operation&) {
                    if (!timed) {
                        under_way.wait();
                        return ending::done;
                    }
                    return under_way.wait_for(limit_of(s)) ? ending::done : ending::timeout;
                });
    } catch (const weft::cancelled&) {
        end_crew();
        throw;
    }
    end_crew();
}

// ---- time

/// Marks what a with_timeout or a shield encloses.
class machine::enclosed {
public:
    enclosed(history& h, std::vector<enclosure>& all, nanoseconds earliest) : history_(h), all_(all), at_(all.size()) {
        all.push_back({.earliest = earliest, .begun = h.now()});
    }
    ~enclosed() { all_[at_].over = history_.now(); }
    enclosed(const enclosed&) = delete;
    enclosed& operator=(const enclosed&) = delete;
    void set_latest(nanoseconds t) noexcept { all_[at_].latest = t; }

private:
    history& history_;
    std::vector<enclosure>& all_;
    const std::size_t at_;
};

void machine::timeout(frame& f, const statement& s) {
    const auto earliest = after(s.us);
    try {
        enclosed mark(history_, f.log.deadlines, earliest);
        weft::with_timeout(limit_of(s), [&] {
            mark.set_latest(after(s.us));
            run(f, s.bodies[0]);
        });
    } catch (const weft::timeout_error&) {
        if (history::time() < earliest)
            history_.complain("fiber " + std::to_string(f.log.number) + ": a with_timeout was over before its time");
    }
}

void machine::shield(frame& f, const statement& s) {
    const enclosed mark(history_, f.log.shields, after(s.us));
    const weft::shield no_cancel(limit_of(s));
    run(f, s.bodies[0]);
}

void machine::sleep(frame& f, const statement& s) {
    perform(f, {.what = deed::sleep, .how = form::timed, .limit = after(s.us)}, [&](operation&) {
        if (wrong_ == plant::chance) {
            timespec now{};
            ::clock_gettime(CLOCK_MONOTONIC, &now);
            if (now.tv_nsec / 128 % 2 == 0) weft::this_fiber::yield();
        }
        weft::this_fiber::sleep_for(wrong_ == plant::early_timeout ? limit_of(s) / 2 : limit_of(s));
        return ending::timeout;
    });
}

}  // namespace weft::fuzz
