#include "callbacks/redis_link.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include <weft/redis/error.hpp>

#include "io/system.hpp"

namespace variants {

namespace redis = weft::redis;
using namespace std::chrono_literals;
using weft::detail::system_result;

namespace {

// as in src/redis/connection.cpp and client_options
constexpr std::size_t read_buffer_bytes = std::size_t{64} * 1024;
constexpr std::size_t max_reply_bytes = std::size_t{512} << 20;
constexpr auto connect_timeout = 5s;
constexpr auto silence_timeout = 60s;

weft::detail::redis::server_url plain_url(std::string_view text) {
    auto url = weft::detail::redis::parse_url(text);
    if (!url.password.empty() || url.database != 0)
        throw std::invalid_argument("--redis: the style callbacks takes no password and no database");
    return url;
}

/// A socket whose connect() has begun. \returns it, or a negated errno.
long begin_connect(const weft::detail::redis::server_url& url) {
    addrinfo wanted{};
    wanted.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
    wanted.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (::getaddrinfo(url.host.c_str(), std::to_string(url.port).c_str(), &wanted, &found) != 0) return -EADDRNOTAVAIL;
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, ::freeaddrinfo);
    const long fd = system_result([&] { return ::socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); });
    if (fd < 0) return fd;
    const int on = 1;
    ::setsockopt(static_cast<int>(fd), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const long begun = system_result([&] { return ::connect(static_cast<int>(fd), found->ai_addr, found->ai_addrlen); });
    if (begun == 0 || begun == -EINPROGRESS) return fd;
    ::close(static_cast<int>(fd));
    return begun;
}

}  // namespace

redis_link::redis_link(loop& in, std::string_view url) : loop_(in), url_(plain_url(url)), in_(read_buffer_bytes) {
    loop_.at_turn_end([this] {
        flush();
        sweep();
    });
    loop_.at_tick([this] { tick(); });
}

void redis_link::call(std::span<const redis::argument> command, on_reply then) {
    if (const auto refused = rules_.refusal(command); !refused.empty())
        return then({}, std::make_exception_ptr(redis::error(redis::error_kind::refused, std::string(refused))));
    if (state_ == state::idle && loop_.now() >= retry_at_) connect();
    if (state_ == state::idle) return then({}, std::make_exception_ptr(redis::error(redis::error_kind::connection, reason_)));
    if (waiting_.empty()) heard_ = loop_.now();
    weft::detail::redis::append_command(out_, command);
    waiting_.push_back(std::move(then));
}

void redis_link::connect() {
    state_ = state::connecting;
    ++failures_;
    heard_ = loop_.now();
    const long fd = begin_connect(url_);
    if (fd < 0) return lost(std::strerror(static_cast<int>(-fd)));
    replies_.emplace(max_reply_bytes);
    socket_ = std::make_unique<watched>(
        static_cast<int>(fd), watched::functions{.readable = [this] { receive(); },
                                                 .writable = [this] { state_ == state::open ? flush() : connected(); }});
    connected();
}

void redis_link::connected() {
    const long ready = socket_->await_writable();
    if (ready == -EAGAIN) return;
    int error = 0;
    socklen_t size = sizeof error;
    if (ready < 0)
        error = static_cast<int>(-ready);
    else
        ::getsockopt(socket_->descriptor(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return lost(std::strerror(error));
    state_ = state::open;
    receive();
}

void redis_link::flush() {
    while (state_ == state::open && sent_ < out_.size()) {
        const long n = socket_->send(std::string_view(out_).substr(sent_));
        if (n == -EAGAIN) return;
        if (n < 0) return lost(std::strerror(static_cast<int>(-n)));
        sent_ += static_cast<std::size_t>(n);
    }
    if (state_ != state::open) return;
    out_.clear();
    sent_ = 0;
}

void redis_link::receive() {
    while (state_ == state::open) {
        const long n = socket_->receive(in_);
        if (n == -EAGAIN) return;
        if (n == 0) return lost("closed by the server");
        if (n < 0) return lost(std::strerror(static_cast<int>(-n)));
        heard_ = loop_.now();
        try {
            replies_->feed(std::as_bytes(std::span(in_).first(static_cast<std::size_t>(n))));
            while (auto reply = state_ == state::open ? replies_->next() : std::nullopt) {
                if (waiting_.empty()) throw std::runtime_error("the server sent a reply that nothing asked for");
                failures_ = 0;
                const auto then = std::move(waiting_.front());
                waiting_.pop_front();
                then(std::move(*reply), nullptr);
            }
        } catch (const std::exception& broken) {
            return lost(broken.what());
        }
    }
}

/// All commands under way fail, and further ones do until the next attempt.
void redis_link::lost(const std::string& why) {
    reason_ = "redis " + url_.name() + (state_ == state::open ? ": connection lost: " : ": cannot connect: ") + why;
    state_ = state::idle;
    constexpr unsigned most_doublings = 6;
    const auto pause =
        failures_ == 0 ? 0ms : std::min<std::chrono::milliseconds>(50ms * (1u << std::min(failures_ - 1, most_doublings)), 2s);
    retry_at_ = loop_.now() + pause;
    if (socket_) {
        ::shutdown(socket_->descriptor(), SHUT_RDWR);
        gone_.push_back(std::move(socket_));
    }
    out_.clear();
    sent_ = 0;
    const auto failure = std::make_exception_ptr(redis::error(redis::error_kind::connection, reason_));
    for (const auto& then : std::exchange(waiting_, {})) then({}, failure);
}

void redis_link::tick() {
    const auto silent = loop_.now() - heard_;
    if (state_ == state::connecting && silent >= connect_timeout) return lost("no answer in time");
    if (state_ == state::open && !waiting_.empty() && silent >= silence_timeout) lost("no reply for 60 s");
}

void redis_link::sweep() { gone_.clear(); }

}  // namespace variants
