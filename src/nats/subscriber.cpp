// subscriber.cpp - stores messages for a receiver, within its bounds.
#include "nats/subscriber.hpp"

#include <algorithm>
#include <stdexcept>

#include "sync/channel_core.hpp"

namespace weft::detail::nats {

namespace {

weft::nats::subscribe_options checked(const weft::nats::subscribe_options& o) {
    if (o.when_full != overflow::drop_oldest && o.when_full != overflow::drop_newest)
        throw std::invalid_argument(
            "nats: subscribe_options::when_full must be drop_oldest or drop_newest: "
            "a connection serves many subscriptions, so one must not stop it");
    if (o.capacity == 0) throw std::invalid_argument("nats: subscribe_options::capacity must be 1 or more");
    return o;
}

// chosen: how many may seem to wait before it is asked, at least
constexpr std::size_t least_unasked = 64;
constexpr std::size_t most_unannounced = 64;  // chosen: read in some microseconds
constexpr std::size_t most_spares = 1024;  // chosen: as many short messages as a read brings

}  // namespace

/// The messages, with the operations of the channel of their tokens.
struct subscriber::message_list : element_operations {
    using token = char;

    message_list()
        : element_operations{.bytes = sizeof(token),
                             .alignment = alignof(token),
                             .trivial = true,
                             .move = move_token,
                             .deliver = give,
                             .destroy = nothing,
                             .end = end_all} {
        all.emplace_back();
        taken_last = all.begin();
    }

    static void move_token(void*, void*, const element_operations&) {}
    static void give(void* to, void*, const element_operations& o) {
        auto& mine = const_cast<message_list&>(static_cast<const message_list&>(o));
        ++mine.taken_last;
        static_cast<std::optional<weft::nats::message>*>(to)->emplace(std::move(*mine.taken_last->what));
    }
    static void nothing(void*) noexcept {}
    static void end_all(const element_operations& o) noexcept { delete static_cast<const message_list*>(&o); }

    std::list<kept_message> all;
    std::list<kept_message>::iterator taken_last;  // moved on by the deliveries (NATS_SUBSCRIBER-1)
};

subscriber::subscriber(std::uint64_t id, std::string about, const weft::nats::subscribe_options& how,
                       std::list<kept_message>& spares)
    : subscriber(id, std::move(about), how, spares, std::make_unique<message_list>()) {}

subscriber::subscriber(std::uint64_t id, std::string about, const weft::nats::subscribe_options& how,
                       std::list<kept_message>& spares, std::unique_ptr<message_list> list)
    : sid(id),
      subject(std::move(about)),
      options(checked(how)),
      messages(channel_ref(make_channel(*list, options.capacity))),
      list_(*list.release()),  // until end_all()
      spares_(spares),
      ask_at_(least_unasked) {}

void subscriber::forget_taken() {
    announce();
    const auto left = messages.size();
    for (; waiting_ > left; --waiting_) {
        if (spares_.size() < most_spares)
            spares_.splice(spares_.end(), list_.all, list_.all.begin());
        else
            list_.all.pop_front();
        bytes_ -= list_.all.front().bytes;
    }
    ask_at_ = std::max(2 * waiting_, least_unasked);
}

bool subscriber::is_full(std::size_t next) {
    const auto seems_full = [&] { return waiting_ >= options.capacity || (bytes_ + next > options.most_bytes && waiting_ != 0); };
    if (waiting_ >= ask_at_ || slow_ || seems_full()) forget_taken();
    return seems_full();
}

bool subscriber::deliver(const arrival& m) {
    const auto size = m.payload.size();
    bool begins = false;
    while (is_full(size)) {
        begins |= !slow_;
        slow_ = true;
        if (options.when_full == overflow::drop_newest) {
            ++lost;
            return begins;
        }
        if (messages.try_receive()) ++lost;
        forget_taken();
    }
    // The receiver has caught up: the next loss is told again.
    if (slow_ && !begins && waiting_ <= options.capacity / 2 && bytes_ <= options.most_bytes / 2) slow_ = false;
    auto& all = list_.all;
    if (spares_.empty()) spares_.emplace_back();
    auto& made = spares_.back();
    made.what.emplace(m);
    made.bytes = size;
    all.splice(all.end(), spares_, std::prev(spares_.end()));
    ++waiting_;
    bytes_ += size;
    if (++unannounced_ == most_unannounced) announce();
    return begins;
}

void subscriber::announce() {
    // It is not full, as is_full() has seen to, and it is not closed before the link has forgotten it.
    message_list::token one{};
    channel_try_send_many(channel_access::ref(messages).core(), &one, unannounced_);
}

}  // namespace weft::detail::nats
