// exchange.cpp - lends exchanges and keeps a bounded number of them.
#include "http/exchange.hpp"

#include <mutex>

namespace weft::detail {
namespace {

constexpr std::size_t kept_exchanges = 256;         // chosen: more are seldom busy at once, and each holds up to 20 KB
constexpr std::size_t kept_bytes = 64 * 1024;       // chosen: of one string

void shrink(std::string& s) noexcept {
    s.clear();
    if (s.capacity() > kept_bytes) std::string().swap(s);
}

}  // namespace

exchange_pool::~exchange_pool() {
    while (free_) delete std::exchange(free_, free_->next_free);
}

exchange_pool::lease exchange_pool::take() {
    {
        std::lock_guard guard(lock_);
        if (exchange* x = free_) {
            free_ = x->next_free;
            --count_;
            return lease(x, {this});
        }
    }
    return lease(new exchange(limits_), {this});
}

void exchange_pool::give_back(exchange* x) noexcept {
    x->in.clear();
    x->decoder.restart();
    shrink(x->out);
    shrink(x->request.parts().body);
    {
        std::lock_guard guard(lock_);
        if (count_ < kept_exchanges) {
            x->next_free = free_;
            free_ = x;
            ++count_;
            return;
        }
    }
    delete x;
}

}  // namespace weft::detail
