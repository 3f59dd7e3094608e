#include "http/taken_stream.hpp"

#include <utility>

namespace weft::detail {

void taken_stream::on_stop(std::function<void()> f) {
    const lock_guard lock(mutex_);
    told_ = std::move(f);
    if (is_stopping_.load(relaxed) && told_) std::exchange(told_, {})();  // relaxed: TAKEN_STREAM-1
}

void taken_stream::request_stop() {
    const lock_guard lock(mutex_);
    is_stopping_.store(true, release);  // pairs with is_stopping()
    if (told_) std::exchange(told_, {})();
}

void taken_streams::enter(taken_stream& s) {
    const lock_guard lock(mutex_);
    streams_.push_back(s);
    if (is_told_) s.request_stop();
}

void taken_streams::leave(taken_stream& s) noexcept {
    const lock_guard lock(mutex_);
    streams_.remove(s);
}

void taken_streams::tell_all() {
    const lock_guard lock(mutex_);
    is_told_ = true;
    for (auto* s = streams_.front(); s; s = streams_.next(*s)) s->request_stop();
}

}  // namespace weft::detail

namespace weft::http {

upgraded::upgraded(io::byte_stream connection, std::string received)
    : state_(std::make_unique<weft::detail::taken_stream>(std::move(connection), std::move(received))) {}

upgraded::~upgraded() { state_->on_stop({}); }

io::byte_stream& upgraded::stream() noexcept { return state_->stream; }

std::string upgraded::take_received() noexcept { return std::exchange(state_->received, {}); }

bool upgraded::stopping() const noexcept { return state_->is_stopping(); }

void upgraded::on_stop(std::function<void()> f) { state_->on_stop(std::move(f)); }

void upgraded::request_stop() { state_->request_stop(); }

void upgraded::call_again(std::chrono::nanoseconds within) noexcept {
    state_->again = true;
    state_->again_within = within;
}

bool upgraded::timed_out() const noexcept { return state_->timed_out; }

}  // namespace weft::http
