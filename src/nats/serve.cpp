// serve.cpp - the fibers of a connection: they open it, write, read, and notice silence.
#include <algorithm>
#include <charconv>
#include <new>
#include <stdexcept>

#include <weft/deadline.hpp>
#include <weft/fiber.hpp>
#include <weft/net/tcp.hpp>
#include <weft/stop.hpp>

#include "nats/link.hpp"

namespace weft::detail::nats {

using weft::nats::error;
using weft::nats::nats_errc;
using event_kind = weft::nats::event::kind;

namespace {

constexpr std::size_t read_buffer_bytes = std::size_t{64} * 1024;   // chosen: as weft::redis
constexpr std::size_t kept_write_bytes = std::size_t{1024} * 1024;  // chosen: as weft::redis

nats_errc code_of(std::string_view server_says) noexcept {
    return server_says.find("uthorization") != std::string_view::npos ||
                   server_says.find("uthentication") != std::string_view::npos
               ? nats_errc::authorization
               : nats_errc::server_error;
}

/// What a server says before the connection can be used.
class greeting final : public listener_of_parser {
public:
    void on_message(const arrival&) override { throw error(nats_errc::protocol_error, "a message before the login"); }
    void on_info(std::string_view json) override {
        info = parse_info(json, nonce, tls_required);
        has_info = true;
    }
    void on_ping() override { asks = true; }
    void on_pong() override { has_pong = true; }
    void on_error(std::string_view text) override { throw error(code_of(text), "the server says " + std::string(text)); }

    weft::nats::server_info info;
    std::string nonce;
    bool tls_required = false, has_info = false, has_pong = false, asks = false;
};

template <class Done>
void read_until(io::byte_stream& stream, parser& p, greeting& g, Done done) {
    std::array<std::byte, 4096> buffer;
    while (!done()) {
        const auto n = stream.read_some(buffer);
        if (n == 0) throw error(nats_errc::connection_lost, "closed by the server during the login");
        p.feed({reinterpret_cast<const char*>(buffer.data()), n}, g);
    }
}

/// Runs f, which works for the connection beside the reader. Whatever it throws is the reason that the
/// connection ends with; the reader sees the end of the stream.
template <class F>
void run_beside_reader(io::byte_stream& stream, std::string& reason, F&& f) {
    try {
        f();
    } catch (const cancelled&) {  // the reader has ended first
        throw;
    } catch (const std::exception& e) {
        reason = e.what();
        std::error_code ignored;
        stream.shutdown(io::side::both, ignored);
    }
}

bool is_limit(std::chrono::nanoseconds d) noexcept { return d > std::chrono::nanoseconds::zero() && !(d == no_limit); }

}  // namespace

void link::run() {
    try {
        for (;;) {
            const auto failed = serve_once();
            lost(failed);
            tell();
            {
                const lock_type lock(lock_);
                if (state_ == state::closed) return;
            }
            if (failures_ > options_.most_reconnects && !(options_.most_reconnects == no_limit))
                return close("given up after " + std::to_string(failures_) + " failures: " + failed.text);
            if (servers_.advance()) pause();
        }
    } catch (const cancelled&) {}  // close() says what ends
}

void link::pause() {
    constexpr std::size_t most_doublings = 16;
    const auto doublings = std::min(failures_, most_doublings);
    const auto whole = std::min<std::chrono::nanoseconds>(options_.reconnect_pause * (std::int64_t{1} << doublings),
                                                          std::max(options_.reconnect_pause, options_.reconnect_pause_most));
    std::uniform_int_distribution<std::int64_t> any(whole.count() / 2, whole.count());
    this_fiber::sleep_for(std::chrono::nanoseconds(any(chance_)));
}

/// Serves one connection. Returns why it has ended.
link::failure link::serve_once() {
    const std::string at = servers_.current().name() + ": ";
    std::string not_written, given_up;
    failure failed{nats_errc::connection_lost, ""};
    const char* stage = "cannot connect: ";
    try {
        parser p(options_.max_message_bytes);
        auto stream = with_timeout(options_.connect_timeout, [&] { return open(p); });
        opened();
        stage = "connection lost: ";
        failures_ = 0;
        tell();
        const auto writer =
            weft::spawn({.name = "nats-writer"}, [&] { run_beside_reader(stream, not_written, [&] { write(stream); }); });
        const auto watches =
            weft::spawn({.name = "nats-silence"}, [&] { run_beside_reader(stream, given_up, [&] { watch(); }); });
        read(stream, p);
        failed.text = "closed by the server";
    } catch (const cancelled&) {
        throw;
    } catch (const timeout_error&) {
        failed.text = "no answer in time";
    } catch (const error& e) {
        failed = {static_cast<nats_errc>(e.code().value()), e.what()};
    } catch (const std::system_error& e) {
        failed.text = e.code().message();
    } catch (const std::bad_alloc&) {
        failed.text = "out of memory";
    } catch (const std::exception& e) {
        failed.text = e.what();
    }
    if (!given_up.empty())
        failed.text = given_up;
    else if (!not_written.empty() && failed.code == nats_errc::connection_lost)
        failed.text = not_written;
    const lock_type lock(lock_);
    if (!last_error_.empty() && failed.code == nats_errc::connection_lost)
        failed = {code_of(last_error_), "the server says " + last_error_};
    failed.text = at + stage + failed.text;
    return failed;
}

io::byte_stream link::open(parser& p) {
    const auto& url = servers_.current();
    auto stream = options_.connect ? options_.connect(url.at) : io::byte_stream(tcp::stream::connect(url.at));
    greeting g;
    read_until(stream, p, g, [&] { return g.has_info; });
    const bool tls = url.tls || g.tls_required;
    if (tls) {
        if (!options_.tls) throw error(nats_errc::no_tls, "it asks for TLS, and client_options::tls is empty");
        if (!p.is_between()) throw error(nats_errc::protocol_error, "it says more than INFO before TLS");
        stream = options_.tls->connect_over(std::move(stream), url.at.host);
    }
    stream.write_all(connect_line(options_, url, g.nonce, tls) + "PING\r\n");
    read_until(stream, p, g, [&] { return g.has_pong; });
    if (g.asks) stream.write_all(std::string_view("PONG\r\n"));
    servers_.learn(g.info.connect_urls);
    const lock_type lock(lock_);
    info_ = std::move(g.info);
    return stream;
}

void link::opened() {
    const lock_type lock(lock_);
    if (state_ == state::closed) return;
    state_ = state::connected;
    last_error_.clear();
    unanswered_ = 0;
    writer_sleeps_ = false;
    if (stats_.connected) ++stats_.reconnects;
    stats_.connected = true;  // here: it was connected before
    if (uses_inbox_) append_subscribe(subscribe_, inbox_ + ".*", {}, inbox_sid);
    for (const auto& [sid, s] : subscribers_)
        if (!s->leaves) append_subscribe(subscribe_, s->subject, s->options.queue, sid);
    events_.push_back({event_kind::connected, servers_.current().name()});
    if (refused_ != 0) {
        stats_.dropped += refused_;
        events_.push_back({event_kind::dropped, {}, std::exchange(refused_, 0)});
    }
    changed_.notify_all();
    room_.notify_all();
}

void link::lost(const failure& why) {
    ++failures_;
    const lock_type lock(lock_);
    if (state_ == state::closed) return;
    why_ = why;
    events_.push_back({event_kind::disconnected, why.text});
    if (state_ == state::connecting) return;
    state_ = state::connecting;
    subscribe_.clear();
    ask_.clear();
    if (const auto dropped = std::exchange(in_flight_, 0); dropped != 0) {
        stats_.dropped += dropped;
        events_.push_back({event_kind::dropped, {}, dropped});
    }
    end_waits(outcome::lost);
    changed_.notify_all();
    room_.notify_all();
}

void link::write(io::byte_stream& stream) {
    std::string batch;
    for (;;) {
        bool sleeps = false;
        {
            const lock_type lock(lock_);
            sleeps = writer_sleeps_ = subscribe_.empty() && publish_.empty() && ask_.empty();
        }
        if (sleeps) wake_.wait();
        // Every fiber that can run now gets to append before the write.
        this_fiber::yield();
        {
            const lock_type lock(lock_);
            writer_sleeps_ = false;
            batch.swap(subscribe_);
            if (batch.empty())
                batch.swap(publish_);
            else
                batch += publish_;
            batch += ask_;
            publish_.clear();
            ask_.clear();
            in_flight_ = std::exchange(published_, 0);
            ++batches_;
            room_.notify_all();
        }
        if (batch.empty()) continue;
        stream.write_all(batch);
        batch.clear();
        if (batch.capacity() > kept_write_bytes) std::string().swap(batch);
        const lock_type lock(lock_);
        in_flight_ = 0;
    }
}

void link::watch() {
    const auto every = options_.ping_interval;
    if (!is_limit(every)) return;
    for (;;) {
        this_fiber::sleep_for(every);
        const lock_type lock(lock_);
        if (unanswered_ >= 2) throw std::runtime_error("two pings were not answered");
        ++unanswered_;
        ask_ += "PING\r\n";
        rounds_.push_back(nullptr);
        wake_writer();
    }
}

void link::read(io::byte_stream& stream, parser& p) {
    std::vector<std::byte> buffer(read_buffer_bytes);
    while (const auto n = stream.read_some(buffer)) {
        bool tells = false;
        {
            const lock_type lock(lock_);  // NATS_LINK-4
            if (state_ == state::closed) return;
            try {
                p.feed({reinterpret_cast<const char*>(buffer.data()), n}, *this);
            } catch (...) {
                announce();
                throw;
            }
            announce();
            tells = !events_.empty();
        }
        if (tells) tell();
    }
}

void link::tell() {
    std::vector<weft::nats::event> all;
    {
        const lock_type lock(lock_);
        all.swap(events_);
    }
    if (!options_.on_event) return;
    for (const auto& e : all) {
        try {
            options_.on_event(e);
        } catch (...) {}  // as client_options::on_event says
    }
}

void link::on_message(const arrival& m) {
    ++stats_.received;
    stats_.received_bytes += m.payload.size();
    if (m.sid == inbox_sid) return on_answer(m);
    if (!receiving_ || receiving_->sid != m.sid) {
        announce();
        const auto found = subscribers_.find(m.sid);
        if (found == subscribers_.end()) return;  // UNSUB is on its way
        receiving_ = found->second.get();
    }
    if (receiving_->deliver(m)) events_.push_back({event_kind::slow_consumer, receiving_->subject});
}

void link::announce() {
    if (auto* const s = std::exchange(receiving_, nullptr)) s->announce();
}

void link::on_answer(const arrival& m) {
    if (m.subject.size() <= inbox_.size()) return;
    std::uint64_t id = 0;
    std::from_chars(m.subject.data() + inbox_.size() + 1, m.subject.data() + m.subject.size(), id);
    const auto found = requests_.find(id);
    if (found == requests_.end()) return;  // its caller has left
    auto& r = *found->second;
    requests_.erase(found);
    r.answer = m.take();
    r.how = outcome::done;
    r.over.set();
}

void link::on_info(std::string_view json) {
    std::string nonce;
    bool tls = false;
    const bool told = info_.lame_duck;
    info_ = parse_info(json, nonce, tls);
    servers_.learn(info_.connect_urls);
    if (info_.lame_duck && !told) events_.push_back({event_kind::lame_duck, info_.name});
}

void link::on_ping() {
    subscribe_ += "PONG\r\n";
    wake_writer();
}

void link::on_pong() {
    if (rounds_.empty()) throw error(nats_errc::protocol_error, "a PONG that nothing asked for");
    unanswered_ = 0;
    auto* const r = rounds_.front();
    rounds_.pop_front();
    if (!r) return;
    r->how = outcome::done;
    r->over.set();
}

void link::on_error(std::string_view text) {
    events_.push_back({event_kind::server_error, std::string(text)});
    if (text.find("ermissions") == std::string_view::npos) last_error_ = text;  // that one leaves the connection open
}

}  // namespace weft::detail::nats
