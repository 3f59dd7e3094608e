#include "etcd/stream.hpp"

#include <span>

#include "etcd/failure.hpp"

namespace weft::detail::etcd {

using weft::etcd::etcd_errc;

namespace {

constexpr std::size_t piece = 8192;  // chosen: many events are smaller

}  // namespace

json stream::next() {
    try {
        for (;;) {
            const auto end = read_.find('\n', looked_at_);
            if (end != std::string::npos && end != 0) {
                auto object = parse_object(std::string_view(read_).substr(0, end));
                read_.erase(0, end + 1);
                looked_at_ = 0;
                if (!at(object, "error").is_null()) throw failed{failure_of(object)};
                return object;
            }
            if (end == 0) {
                read_.erase(0, 1);
                continue;
            }
            looked_at_ = read_.size();
            if (read_.size() > most_)
                throw failed{{.reason = etcd_errc::too_large, .words = "an object of the stream is too large"}};
            read_.resize(looked_at_ + piece);
            const auto n = transfer_.read_some(std::as_writable_bytes(std::span(read_).subspan(looked_at_)));
            read_.resize(looked_at_ + n);
            if (n == 0) throw failed{{.reason = etcd_errc::unavailable, .words = "the server has ended the stream"}};
        }
    } catch (const bad_answer& e) {
        throw failed{{.reason = etcd_errc::protocol, .words = e.what()}};
    } catch (const http::client_error& e) {
        throw failed{failure_of(e)};
    }
}

}  // namespace weft::detail::etcd
