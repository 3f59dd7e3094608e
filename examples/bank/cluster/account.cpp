#include "account.hpp"

#include <stdexcept>

namespace bank {

void account::started() {
    const auto token = opening_->token.get();
    record next;
    next.cents = opening_->cents_at_first;
    if (const auto found = opening_->in->read(opening_->account)) {
        next = record_in(found->text);
        revision_ = found->revision;
    }
    if (next.token >= token) throw std::runtime_error("bank: account " + opening_->account + " was opened by a later owner");
    next.token = token;
    next.owner = opening_->node;
    save(std::move(next));
    opening_->say("owns " + opening_->account + ": " + std::to_string(now_.cents) + " cents, token " + std::to_string(token));
    for (const auto& t : now_.on_their_way) opening_->to_deliver.send(t);
}

bool account::handle(const pay& p) {
    if (p.cents <= 0 || p.cents > now_.cents || now_.on_their_way.size() >= opening::most_on_their_way) return false;
    auto next = now_;
    next.cents -= p.cents;
    next.on_their_way.push_back({.to = p.to, .number = ++next.last_number, .cents = p.cents});
    save(std::move(next));  // RECORD-1
    opening_->to_deliver.send(now_.on_their_way.back());
    return true;
}

void account::handle(const take& t) {
    const auto before = now_.taken.find(t.from);
    if (before != now_.taken.end() && t.number <= before->second) return;  // RECORD-3: it came again
    auto next = now_;
    next.cents += t.cents;
    next.taken[t.from] = t.number;
    save(std::move(next));  // RECORD-2
}

void account::handle(delivered d) {  // the next write takes it out of the ledger
    std::erase_if(now_.on_their_way, [&](const transfer& t) { return t.number == d.number; });
}

/// An answer that was lost leaves open what the ledger has. This life of the account ends then, and the next
/// one reads it.
void account::save(record next) {
    const auto written = opening_->in->write(opening_->account, to_text(next), revision_);
    if (!written) throw std::runtime_error("bank: another owner has written account " + opening_->account);
    now_ = std::move(next);
    revision_ = *written;
}

}  // namespace bank
