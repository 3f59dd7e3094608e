#include "tls/wire.hpp"

#include <cstring>
#include <new>
#include <utility>

namespace weft::detail {

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

std::size_t tls_wire::read(std::span<std::byte> into, bool& again) noexcept {
    std::error_code error;
    const auto n = attempts_.read_now(into, error);
    if (error) failure_ = error;
    has_ended_ = !error && n && *n == 0;
    again = !error && (!n || (has_ended_ && !ends_badly()));
    return error ? 0 : n.value_or(0);
}

bool tls_wire::write(std::span<const std::byte> from) noexcept {
    if (!has_backlog_) {
        std::error_code error;
        const auto n = attempts_.write_now(from, error);
        if (error) {
            failure_ = error;
            return false;
        }
        from = from.subspan(n.value_or(0));
        if (from.empty()) return true;
    }
    try {
        kept_.insert(kept_.end(), from.begin(), from.end());
    } catch (const std::bad_alloc&) {
        failure_ = std::make_error_code(std::errc::not_enough_memory);
        return false;
    }
    has_backlog_ = true;
    return true;
}

bool tls_wire::next_to_send() {
    if (sent_ < sending_.size()) return true;
    std::vector<std::byte>().swap(sending_);  // an idle connection holds no buffer
    sent_ = 0;
    const std::lock_guard guard(lock_);
    std::swap(sending_, kept_);
    has_backlog_ = !sending_.empty();  // TLS_WIRE-3
    return has_backlog_;
}

void tls_wire::send_backlog(std::error_code& error) {
    error.clear();
    while (!error && next_to_send()) sent_ += below_.write_all(std::span(std::as_const(sending_)).subspan(sent_), error);
}

bool tls_wire::try_backlog(std::error_code& error) {
    error.clear();
    while (next_to_send()) {
        const auto n = below_.try_write_some(std::span(std::as_const(sending_)).subspan(sent_), error);
        if (error || !n) return false;
        sent_ += *n;
    }
    return true;
}

}  // namespace weft::detail
