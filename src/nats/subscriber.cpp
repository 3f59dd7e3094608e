// subscriber.cpp - stores messages for a receiver, within its bounds.
#include "nats/subscriber.hpp"

#include <stdexcept>

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

// chosen: how many sizes are kept before it is asked which messages were taken
constexpr std::size_t most_unasked = 256;

}  // namespace

subscriber::subscriber(std::uint64_t id, std::string about, const weft::nats::subscribe_options& how)
    : sid(id), subject(std::move(about)), options(checked(how)), messages(options.capacity) {}

void subscriber::forget_taken() {
    for (const auto waiting = messages.size(); sizes_.size() > waiting; sizes_.pop_front()) bytes_ -= sizes_.front();
}

bool subscriber::is_full(std::size_t next) {
    const auto seems_full = [&] {
        return sizes_.size() >= options.capacity || (bytes_ + next > options.most_bytes && !sizes_.empty());
    };
    if (sizes_.size() >= most_unasked || slow_ || seems_full()) forget_taken();
    return seems_full();
}

bool subscriber::deliver(weft::nats::message&& m) {
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
    if (slow_ && !begins && sizes_.size() <= options.capacity / 2 && bytes_ <= options.most_bytes / 2) slow_ = false;
    if (messages.try_send(std::move(m))) {
        sizes_.push_back(size);
        bytes_ += size;
    }
    return begins;
}

}  // namespace weft::detail::nats
