// exchange.cpp - lends exchanges and keeps a bounded number of them.
#include "http/exchange.hpp"

#include <weft/detail/annotated_locks.hpp>

#include <algorithm>
#include <new>
#include <utility>

#include "base/free_pages.hpp"

namespace weft::detail {
namespace {

// chosen: more are seldom busy at once; together they hold up to 12 MB
constexpr std::size_t kept_exchanges = 256;
// chosen: worth some milliseconds of one carrier
constexpr std::size_t told_from = std::size_t{8} << 20;

}  // namespace

void exchange::take_known_out(std::unique_ptr<known_head>& into) noexcept {
    if (!into) into.reset(new (std::nothrow) known_head);
    if (!into) return;
    decoder.exchange_known(*into, request);
    if (into->held_bytes() > known_head::most_bytes) into.reset();
}

std::size_t exchange::held_bytes() const noexcept {
    const auto& parts = request.parts();
    return in.capacity() + out.capacity() + parts.method.capacity() + parts.target.capacity() + parts.body.capacity() +
           detail::held_bytes(parts.headers);
}

std::size_t exchange::rest() noexcept {
    in.clear();
    out.clear();
    decoder.restart();
    auto& parts = request.parts();
    // This also ensures that the move below copies no text of the peer.
    parts.peer.lend(nullptr);
    parts.path_parameters.clear();  // their texts are not counted below
    const auto held = held_bytes();
    if (held <= kept_bytes) return 0;
    in.release();
    std::string().swap(out);
    // An assignment would keep the memory of the texts.
    const http::request gone = std::move(request);
    return held;
}

exchange_pool::~exchange_pool() {
    while (free_) delete std::exchange(free_, free_->next_free);
}

exchange_pool::lease exchange_pool::take() {
    {
        const lock_guard guard(lock_);
        if (exchange* x = free_) {
            free_ = x->next_free;
            --count_;
            count_lent();
            return lease(x, {this});
        }
    }
    auto* const made = new exchange(limits_);
    const lock_guard guard(lock_);
    count_lent();
    return lease(made, {this});
}

void exchange_pool::count_lent() noexcept { most_lent_ = std::max(most_lent_, ++lent_); }

void exchange_pool::give_back(exchange* x) noexcept {
    std::size_t freed = 0;
    if (auto& body = x->request.parts().body; x->reserved > 0 || body.capacity() > exchange::kept_bytes)
        freed = bodies_.free(std::move(body), std::exchange(x->reserved, 0));
    freed += x->rest();
    bool is_over;
    {
        const lock_guard guard(lock_);
        if (count_ < kept_exchanges) {
            x->next_free = std::exchange(free_, x);
            ++count_;
            x = nullptr;
        } else {
            freed += x->held_bytes();
        }
        --lent_;
        freed_ += freed;
        is_over = burst_is_over();
    }
    delete x;
    if (is_over) give_back_free_pages();
}

bool exchange_pool::burst_is_over() noexcept {
    if (most_lent_ <= kept_exchanges || lent_ > most_lent_ / 8) return false;
    most_lent_ = lent_;
    if (freed_ < told_from) return false;
    freed_ = 0;
    ++bursts_;
    return true;
}

}  // namespace weft::detail
