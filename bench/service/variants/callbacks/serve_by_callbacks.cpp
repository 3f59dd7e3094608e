// serve_by_callbacks.cpp - the style without fibers: the listener, its peers, the routes, and the end.
#include <fcntl.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <list>
#include <memory>
#include <system_error>

#include <weft/http/router.hpp>
#include <weft/net/tcp.hpp>

#include "answers.hpp"
#include "callbacks/async_store.hpp"
#include "callbacks/http_peer.hpp"
#include "callbacks/loop.hpp"
#include "failure_log.hpp"
#include "serving.hpp"

namespace variants {
namespace {

namespace http = weft::http;
using weft::detail::decode_limits;

/// SIGINT and SIGTERM, as a descriptor.
int signal_descriptor() {
    sigset_t these;
    ::sigemptyset(&these);
    ::sigaddset(&these, SIGINT);
    ::sigaddset(&these, SIGTERM);
    ::sigprocmask(SIG_BLOCK, &these, nullptr);
    const int fd = ::signalfd(-1, &these, SFD_NONBLOCK | SFD_CLOEXEC);
    if (fd < 0) throw std::system_error(errno, std::system_category(), "signalfd");
    return fd;
}

int copy_of(const weft::tcp::listener& l) {
    const int fd = ::fcntl(l.native_handle(), F_DUPFD_CLOEXEC, 0);
    if (fd < 0) throw std::system_error(errno, std::system_category(), "dup");
    return fd;
}

class callback_server final : public http_service {
public:
    callback_server(loop& in, const options& o, const port& p)
        : loop_(in),
          grace_(o.grace),
          exchanges_(decode_limits{.max_body_bytes = users::longest_user_json}),
          data_(make_async_store(in, o)),
          opened_(p.at, {.reuse_port = p.shared}),
          local_(opened_.local()) {
        routes_.get("/users/{id}", [this](const http::request& q) { return find(q); });
        routes_.post("/users", [this](const http::request& q) { return create(q); });
        routes_.del("/users/{id}", [this](const http::request& q) { return remove(q); });
        routes_.get("/healthz", [](const http::request&) { return users::health_answer(); });
        in.at_turn_end([this] { sweep(); });
        in.at_tick([this] { tick(); });
        listener_ =
            std::make_unique<watched>(copy_of(opened_), watched::functions{.readable = [this] { accept(); }, .writable = {}});
        signals_ = std::make_unique<watched>(signal_descriptor(),
                                             watched::functions{.readable = [this] { take_signals(); }, .writable = {}});
        opened_.close();
        accept();
        take_signals();
    }

    const weft::net::endpoint& local() const noexcept { return local_; }

private:
    /// What a handler returns whose answer is given by a function later, or has been given by it.
    static http::response by_callback() { return {.status = 0, .headers = {}, .body = {}}; }

    http::response find(const http::request& q) {
        data_->get(q.path("id"), [this, to = asking_](const outcome<std::optional<users::user>>& found) {
            to->answer(found.failure ? failed(*to, found.failure) : users::found_answer(to->asked().path("id"), found.value));
        });
        return by_callback();
    }

    http::response create(const http::request& q) {
        try {
            const users::user wanted = users::user_from_json(q.body());
            data_->put(wanted, [this, to = asking_, wanted](const outcome<bool>& stored) {
                to->answer(stored.failure ? failed(*to, stored.failure) : users::created_answer(wanted));
            });
            return by_callback();
        } catch (const users::bad_user& wrong) {
            return users::bad_user_answer(wrong);
        }
    }

    http::response remove(const http::request& q) {
        data_->remove(q.path("id"), [this, to = asking_](const outcome<bool>& removed) {
            to->answer(removed.failure ? failed(*to, removed.failure)
                                       : users::removed_answer(to->asked().path("id"), removed.value));
        });
        return by_callback();
    }

    http::response failed(const http_peer& to, const std::exception_ptr& why) {
        try {
            std::rethrow_exception(why);
        } catch (const std::exception& failure) {
            log_.report(to.asked().method() + ' ' + to.asked().target(), failure.what());
            return users::failed_answer(failure);
        }
    }

    void handle(http::request& asked, http_peer& to) noexcept override {
        asking_ = &to;
        const auto r = routes_.handle(asked);
        if (r.status != 0) to.answer(r);
    }
    weft::detail::exchange_pool& exchanges() noexcept override { return exchanges_; }
    weft::detail::time_point now() const noexcept override { return loop_.now(); }
    bool stopping() const noexcept override { return stopping_; }
    void peer_is_over() noexcept override { some_are_over_ = true; }

    void accept() {
        while (!stopping_) {
            const long fd = listener_->accept();
            if (fd == -ECONNABORTED) continue;
            if (fd < 0) return;  // none waits; or there are too few descriptors, and tick() tries again
            peers_.emplace_back(*this, static_cast<int>(fd)).begin();
        }
    }

    void take_signals() {
        signalfd_siginfo taken;
        while (signals_->read({reinterpret_cast<char*>(&taken), sizeof taken}) > 0) {
            if (stopping_) return loop_.end();
            stopping_ = true;
            grace_end_ = weft::detail::deadline_after(grace_);
            for (auto& peer : peers_) peer.hang_up_idle();
        }
    }

    void tick() {
        if (!stopping_) accept();
        for (auto& peer : peers_) peer.tick();
        if (loop_.now() >= grace_end_) loop_.end();
    }

    void sweep() {
        if (stopping_) listener_.reset();
        if (some_are_over_) peers_.remove_if([](const http_peer& p) { return p.is_over() && !p.is_asking(); });
        some_are_over_ = false;
        if (stopping_ && peers_.empty()) loop_.end();
    }

    loop& loop_;
    const std::chrono::nanoseconds grace_;
    weft::detail::exchange_pool exchanges_;
    http::router routes_;
    users::failure_log log_;
    std::list<http_peer> peers_;  // before the store, whose functions refer to them
    const std::unique_ptr<async_store> data_;
    weft::tcp::listener opened_;  // until the loop has a copy of its descriptor
    const weft::net::endpoint local_;
    std::unique_ptr<watched> listener_, signals_;
    http_peer* asking_ = nullptr;  // whose request the router handles
    bool stopping_ = false;
    bool some_are_over_ = false;
    weft::detail::time_point grace_end_ = weft::detail::never;
};

}  // namespace

void serve_by_callbacks(const options& o, const port& p, const on_listening& listening) {
    loop here;
    callback_server server(here, o, p);
    listening(server.local());
    here.run();
}

}  // namespace variants
