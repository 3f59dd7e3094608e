// client.cpp - batches of requests, each answer checked, each way to hang up.
#include "soak/service/client.hpp"

#include <array>

#include <weft/deadline.hpp>
#include <weft/fiber.hpp>

namespace soak {

namespace {

constexpr unsigned most_in_batch = 16;
constexpr unsigned most_retired = 64;
constexpr unsigned longest_limit_us = 3000;
constexpr unsigned longest_thought_ms = 80;
constexpr std::array<double, wishes> weights{50, 8, 8, 24, 4, 1, 5};  // in the order of wish

}  // namespace

client::client(const plan& p, const service& s, std::string name, std::uint64_t seed, findings& f)
    : plan_(p), service_(s), name_(std::move(name)), random_(seed), found_(f) {
    while (users_.size() < p.users_each) users_.push_back({.id = name_ + '-' + std::to_string(next_id_++)});
}

void client::run(gate& g) {
    work_while_open(g, [&] { work(g); });
}

void client::work(const gate& g) {
    try {
        check_retired();
        while (!g.closing()) {
            exchange();
            if (below(20) == 0) line_.reset();
            weft::this_fiber::sleep_for(milliseconds(below(longest_thought_ms)));
        }
    } catch (const std::system_error& failure) {
        complain(std::string("cannot connect: ") + failure.what());
    }
    line_.reset();
}

void client::exchange() {
    if (!line_) line_.emplace(service_.port, plan_.patience);
    auto asked = make_batch();
    const bool long_idle = line_->idle() > plan::idle_limit / 2;  // the server may be about to close
    try {
        if (below(20) == 0) return hang_up(asked);
        sent_ = clock::now();
        line_->send(asked.bytes);
        receive_answers(asked, asked.requests.size());
        return retire_uncertain();
    } catch (const ended& why) {
        if (!long_idle) complain(why.what());
    } catch (const garbled& why) {
        complain(why.what());
    }
    give_up(asked);
}

client::batch client::make_batch() {
    batch b;
    std::discrete_distribution<unsigned> any(weights.begin(), weights.end());
    for (unsigned n = 1 + below(most_in_batch); n > 0; --n) {
        request q{.what = static_cast<wish>(any(random_)), .user = below(plan_.users_each)};
        if (q.what == wish::create || q.what == wish::create_limited) q.next = ++next_version_;
        add(b, q);
    }
    return b;
}

void client::add(batch& b, const request& q) {
    b.bytes += bytes_of(q, users_[q.user], below(longest_limit_us));
    b.requests.push_back(q);
}

void client::receive_answers(batch& b, std::size_t count) {
    while (b.answered < count) {
        const auto got = line_->receive();
        judge(b.requests[b.answered++], got, sent_);
    }
}

void client::judge(const request& q, const reply& got, clock::time_point sent) {
    found_.n.requests.fetch_add(1);
    auto& u = users_[q.user];
    const bool has_limit = q.what == wish::find_limited || q.what == wish::find_stopped || q.what == wish::create_limited;
    switch (check(q, u, got.status, got.body)) {
        case opinion::right: return;
        case opinion::failed:
            if (!is_excused(got, sent)) break;
            found_.n.failed.fetch_add(1);
            return;
        case opinion::stopped:
            if (!has_limit) break;
            found_.n.stopped.fetch_add(1);
            return;
        case opinion::wrong: break;
    }
    std::string may_be;
    for (const version v : u.possible) may_be += ' ' + std::to_string(v);
    complain("request " + std::to_string(static_cast<int>(q.what)) + " of " + u.id + " (version " + std::to_string(q.next) +
             "; may be" + may_be + "): " + std::to_string(got.status) + ' ' + got.body);
}

bool client::is_excused(const reply& got, clock::time_point sent) const {
    constexpr std::string_view before = R"({"error":")";
    if (!service_.excuse || !got.body.starts_with(before)) return false;
    return trouble::is_about_redis(std::string_view(got.body).substr(before.size())) && service_.excuse->excuses(sent);
}

/// In the middle of a request, before the answers, or after some of them; politely or not.
void client::hang_up(const batch& planned) {
    auto asked = planned;
    const unsigned where = below(3);
    const auto size = where == 0 ? below(static_cast<unsigned>(asked.bytes.size())) : asked.bytes.size();
    sent_ = clock::now();
    line_->send(std::string_view(asked.bytes).substr(0, size));
    if (where == 2) receive_answers(asked, below(static_cast<unsigned>(asked.requests.size())));
    line_->close(below(2) == 0 ? http_line::leave::by_end : http_line::leave::by_reset);
    found_.n.hang_ups.fetch_add(1);
    give_up(asked);
}

/// What was not answered may be carried out, or not, or later.
void client::give_up(const batch& b) {
    for (std::size_t i = 0; i < b.requests.size(); ++i)
        if (b.requests[i].changes()) users_[b.requests[i].user].perhaps(b.requests[i].next);
    line_.reset();
    retire_uncertain();
}

void client::retire_uncertain() {
    for (auto& u : users_) {
        if (u.is_certain()) continue;
        if (retired_.size() < most_retired) retired_.push_back(u);
        u = {.id = name_ + '-' + std::to_string(next_id_++)};
    }
}

/// After a pause: whatever has become of them, it must be one of the things it may be.
void client::check_retired() {
    while (!retired_.empty()) {
        std::swap(retired_.back(), users_.front());
        try {
            if (!line_) line_.emplace(service_.port, plan_.patience);
            sent_ = clock::now();
            line_->send(bytes_of({.what = wish::find, .user = 0}, users_.front(), 0));
            judge({.what = wish::find, .user = 0}, line_->receive(), sent_);
        } catch (const std::runtime_error& why) {
            complain(why.what());
            line_.reset();
        }
        std::swap(retired_.back(), users_.front());
        retired_.pop_back();
    }
}

void client::complain(const std::string& what) { found_.wrong.add(service_.name + ", " + name_ + ": " + what); }

}  // namespace soak
