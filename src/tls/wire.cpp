#include "tls/wire.hpp"

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>

namespace weft::detail {
namespace {

// chosen: two records, after which deadlines and stops are looked at; a flood of requests for new keys makes some ms of it
constexpr std::size_t bytes_per_call = std::size_t{32} * 1024;
// chosen: a record and many answers to requests for new keys
constexpr std::size_t most_kept = std::size_t{64} * 1024;

}  // namespace

/// The functions of the BIO; each has its wire as data.
struct wire_bio {
    static tls_wire& wire(BIO* b) noexcept { return *static_cast<tls_wire*>(BIO_get_data(b)); }

    static int read(BIO* b, char* into, std::size_t size, std::size_t* got) noexcept {
        BIO_clear_retry_flags(b);
        bool again = false;
        *got = wire(b).read(std::as_writable_bytes(std::span(into, size)), again);
        if (again) BIO_set_retry_read(b);
        return *got > 0;
    }
    static int write(BIO* b, const char* from, std::size_t size, std::size_t* put) noexcept {
        BIO_clear_retry_flags(b);
        const bool done = wire(b).write(std::as_bytes(std::span(from, size)));
        *put = done ? size : 0;
        return done;
    }
    static long control(BIO* b, int command, long /*number*/, void* /*data*/) noexcept {
        switch (command) {
            case BIO_CTRL_EOF: return wire(b).ends_badly();
            case BIO_CTRL_FLUSH: return 1;  // there is no buffer before the backlog
            default: return 0;
        }
    }

    /// Made once, and never freed: connections may outlive static objects.
    static const BIO_METHOD* method() {
        static const BIO_METHOD* const made = [] {
            auto* const m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "weft stream");
            if (!m) throw std::bad_alloc();
            BIO_meth_set_read_ex(m, read);
            BIO_meth_set_write_ex(m, write);
            BIO_meth_set_ctrl(m, control);
            return m;
        }();
        return made;
    }
};

bio_ptr tls_wire::make_bio() {
    bio_ptr b(BIO_new(wire_bio::method()));
    if (!b) throw std::bad_alloc();
    BIO_set_data(b.get(), this);
    BIO_set_init(b.get(), 1);
    return b;
}

void tls_wire::begin_call(bool only_answers) noexcept {
    only_answers_ = only_answers;
    budget_ = bytes_per_call;
    has_read_ = false;
    is_full_ = false;
}

std::size_t tls_wire::read(std::span<std::byte> into, bool& again) noexcept {
    is_full_ = kept_.size() > most_kept;
    again = true;
    if (budget_ == 0 || is_full_) return 0;  // TLS_WIRE-4
    std::error_code error;
    const auto n = attempts_.read_now(into, error);
    if (error) read_failure_ = error;
    has_ended_ = !error && n && *n == 0;
    again = !error && (!n || (has_ended_ && !ends_badly()));
    const auto got = error ? 0 : n.value_or(0);
    has_read_ |= got > 0;
    budget_ -= std::min(budget_, got);
    return got;
}

bool tls_wire::write(std::span<const std::byte> from) noexcept {
    if (!has_backlog_) {
        const auto n = attempts_.write_now(from, write_failure_);
        if (write_failure_) return only_answers_;
        from = from.subspan(n.value_or(0));
        if (from.empty()) return true;
    }
    try {
        kept_.insert(kept_.end(), from.begin(), from.end());
    } catch (const std::bad_alloc&) {
        write_failure_ = std::make_error_code(std::errc::not_enough_memory);
        return false;
    }
    unsent_.fetch_add(from.size(), relaxed);  // a hint
    has_backlog_ = true;
    return true;
}

bool tls_wire::refill() noexcept {
    std::swap(sending_, kept_);
    has_backlog_ = !sending_.empty();  // TLS_WIRE-3
    return has_backlog_;
}

void tls_wire::has_sent(std::size_t n) noexcept {
    unsent_.fetch_sub(n, relaxed);  // a hint
    sent_ += n;
    if (sent_ < sending_.size()) return;
    std::vector<std::byte>().swap(sending_);  // an idle connection holds no buffer
    sent_ = 0;
}

void tls_wire::send_backlog(std::error_code& error) {
    error.clear();
    while (!error) {
        if (sending_.empty()) {
            const std::lock_guard guard(lock_);
            if (!refill()) return;
        }
        has_sent(below_.write_all(std::span(std::as_const(sending_)).subspan(sent_), error));
    }
}

bool tls_wire::try_backlog(std::error_code& error) {
    error.clear();
    for (;;) {
        if (sending_.empty()) {
            const std::unique_lock guard(lock_, std::try_to_lock);
            if (!guard) return false;
            if (!refill()) return true;
        }
        const auto n = below_.try_write_some(std::span(std::as_const(sending_)).subspan(sent_), error);
        if (error || !n) return false;
        has_sent(*n);
    }
}

}  // namespace weft::detail
