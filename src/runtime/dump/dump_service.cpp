#include "runtime/dump/dump_service.hpp"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include <weft/detail/annotated_locks.hpp>
#include <weft/dump.hpp>

#include "base/atomic.hpp"
#include "base/direct.hpp"
#include "base/fork.hpp"
#include "base/futex_lock.hpp"
#include "runtime/chosen_signal.hpp"
#include "runtime/dump/dump_socket.hpp"
#include "runtime/hooks.hpp"
#include "sched/new_thread.hpp"

namespace weft::detail {
namespace {

// chosen: how long to wait for a peer that has connected and may not read
constexpr timeval peer_patience{.tv_sec = 5, .tv_usec = 0};

constinit atomic<int> waker{-1};  // DUMP_SERVICE-2
constinit atomic<bool> was_signalled{false};  // DUMP_SERVICE-2

void wake(int descriptor) noexcept {
    constexpr std::uint64_t once = 1;
    // If the counter is full, the thread is awake anyway.
    [[maybe_unused]] const auto n = direct::write(descriptor, &once, sizeof once);
}

extern "C" void on_dump_signal(int) {
    const int saved = errno;
    was_signalled.store(true, relaxed);
    // the write orders the store above
    if (const int descriptor = waker.load(relaxed); descriptor >= 0) wake(descriptor);
    errno = saved;
}

std::string made(dump_format format) {
    std::ostringstream text;
    dump(text, {.format = format});
    return std::move(text).str();
}

// \returns whether all of the text was written.
template <class Write>
bool write_all(std::string_view text, Write&& write_some) noexcept {
    while (!text.empty()) {
        const auto n = write_some(text);
        if (n == -EINTR) continue;
        if (n <= 0) return false;
        text.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
}

class dump_server {
public:
    explicit dump_server(int number)
        : number_(number),
          wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
          listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
        if (wake_.get() < 0) throw std::system_error(errno, std::generic_category(), "weft: eventfd for dumps");
        thread_ = new_thread("weft: no thread for dumps", [this] { run(); });
    }
    ~dump_server() {
        ending_.store(true, release);  // pairs with run()
        wake(wake_.get());
        thread_.join();
    }
    dump_server(const dump_server&) = delete;
    dump_server& operator=(const dump_server&) = delete;

    /// The number of the signal; 0: none yet.
    int number() const noexcept { return number_.load(relaxed); }
    /// Adds a signal to a server that had none.
    void serve(int number) noexcept {
        // The write in wake() orders this store.
        number_.store(number, relaxed);
        wake(wake_.get());
    }
    int waker() const noexcept { return wake_.get(); }

private:
    // \returns false if it cannot listen; the signal is served all the same.
    bool listen() noexcept {
        const dump_socket here(::getpid());
        const int fd = listener_.get();
        // chosen: one second; the previous server of this process may still be making a dump
        for (int tries = 100; fd >= 0 && tries > 0;
             --tries) {
            if (::bind(fd, here.get(), here.bytes) == 0) return ::listen(fd, 4) == 0;
            if (errno != EADDRINUSE || ending_.load(relaxed)) break;
            direct::sleep_for(std::chrono::milliseconds(10));
        }
        std::fprintf(stderr, "weft: weft dump %d will find nobody: %s\n", static_cast<int>(::getpid()), std::strerror(errno));
        return false;
    }

    void run() noexcept {
        ::pthread_setname_np(::pthread_self(), "weft/dumps");
        bool listens = listen();
        for (;;) {
            if (number() != 0) unblock(number());
            std::array<pollfd, 2> wanted = {{{wake_.get(), POLLIN, 0}, {listens ? listener_.get() : -1, POLLIN, 0}}};
            const long n = direct::poll(wanted.data(), wanted.size(), std::chrono::nanoseconds(-1));
            if (n < 0 && n != -EINTR) return say_that_nobody_answers("poll", n);
            if (ending_.load(acquire)) return;  // pairs with the destructor
            std::uint64_t times = 0;
            if (direct::read(wake_.get(), &times, sizeof times) == sizeof times && was_signalled.exchange(false, relaxed)) print();
            if (listens) listens = answer_next();
        }
    }

    // So there is one thread that can take the signal, whatever masks the others have inherited.
    static void unblock(int number) noexcept {
        sigset_t one;
        ::sigemptyset(&one);
        ::sigaddset(&one, number);
        ::pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
    }

    static void say_that_nobody_answers(const char* call, long error) noexcept {
        std::fprintf(stderr, "weft: weft dump %d will find nobody any more: %s: %s\n", static_cast<int>(::getpid()), call,
                     std::strerror(static_cast<int>(-error)));
    }

    static void print() noexcept {
        try {
            write_all(made(dump_format::text),
                      [](std::string_view rest) { return direct::write(STDERR_FILENO, rest.data(), rest.size()); });
        } catch (const std::exception& e) {
            std::fprintf(stderr, "weft: no dump: %s\n", e.what());
        }
    }

    // \returns false if the system refuses the call, as it would do again at once.
    bool answer_next() noexcept {
        const long fd = direct::accept(listener_.get(), SOCK_CLOEXEC);
        if (fd >= 0) {
            answer(unshared_descriptor(static_cast<int>(fd)));
        } else if (fd == -EMFILE || fd == -ENFILE || fd == -ENOBUFS || fd == -ENOMEM) {
            // chosen: the peer still waits, and the lack of resources lasts
            direct::sleep_for(std::chrono::milliseconds(100));
        } else if (fd != -EAGAIN && fd != -EINTR && fd != -ECONNABORTED) {
            say_that_nobody_answers("accept4", fd);
            return false;
        }
        return true;
    }

    static void answer(const unshared_descriptor& peer) noexcept {
        if (!may_ask(peer.get())) return;
        ::setsockopt(peer.get(), SOL_SOCKET, SO_RCVTIMEO, &peer_patience, sizeof peer_patience);
        ::setsockopt(peer.get(), SOL_SOCKET, SO_SNDTIMEO, &peer_patience, sizeof peer_patience);
        std::array<char, 16> request;
        const auto n = direct::recv(peer.get(), request.data(), request.size(), 0);
        if (n <= 0) return;
        const std::string_view words(request.data(), static_cast<std::size_t>(n));
        try {
            const auto text = answer_to(words);
            write_all(text, [&](std::string_view rest) { return direct::send(peer.get(), rest.data(), rest.size(), MSG_NOSIGNAL); });
        } catch (const std::exception& e) {
            std::fprintf(stderr, "weft: no dump: %s\n", e.what());
        }
    }

    static std::string answer_to(std::string_view request) {
        if (request == "text\n") return made(dump_format::text);
        if (request == "json\n") return made(dump_format::json);
        if (request == "hooks\n") return hooks_in_words();
        if (request == "hooks-json\n") return hooks_as_json();
        return {};
    }

    static bool may_ask(int peer) noexcept {
        ucred who = {};
        socklen_t bytes = sizeof who;
        return ::getsockopt(peer, SOL_SOCKET, SO_PEERCRED, &who, &bytes) == 0 && (who.uid == ::geteuid() || who.uid == 0);
    }

    atomic<int> number_;
    const unshared_descriptor wake_, listener_;
    atomic<bool> ending_{false};
    std::thread thread_;
};

constinit futex_lock service_lock;
constinit unsigned service_users WEFT_GUARDED_BY(service_lock) = 0;
constinit dump_server* server WEFT_GUARDED_BY(service_lock) = nullptr;  // DUMP_SERVICE-1

// FORK-3.
[[gnu::constructor(before_static_objects)]] void services_follow_forks() noexcept {
    follow_forks({.before = []() WEFT_ACQUIRE(service_lock) { service_lock.lock(); },
                  .in_parent = []() WEFT_RELEASE(service_lock) { service_lock.unlock(); },
                  .in_child =
                      []() WEFT_RELEASE(service_lock) {
                          // DUMP_SERVICE-3; relaxed, since this is the only thread.
                          waker.store(-1, relaxed);
                          service_users = 0;
                          server = nullptr;
                          service_lock.unlock();
                      }});
}

void install_handler(int number) {
    struct sigaction now = {};
    if (::sigaction(number, nullptr, &now) == 0) {
        // then it was inherited from a parent
        const bool is_ours = (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == on_dump_signal;
        if (is_ours) return;
        if ((now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_IGN)
            throw std::invalid_argument(signal_in_words("dump_signal", number) + " is ignored, by somebody's wish");
        if ((now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler != SIG_DFL) refuse_signal_with_handler("dump_signal", number);
    }
    struct sigaction action = {};
    action.sa_handler = on_dump_signal;
    action.sa_flags = SA_ONSTACK | SA_RESTART;
    if (::sigaction(number, &action, nullptr) != 0)
        throw std::invalid_argument(signal_in_words("dump_signal", number) + " cannot have a handler");
}

void remove_handler(int number) noexcept {
    struct sigaction now = {};
    if (::sigaction(number, nullptr, &now) != 0 || (now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler != on_dump_signal) return;
    now = {};
    now.sa_handler = SIG_DFL;
    ::sigaction(number, &now, nullptr);
}

}  // namespace

dump_service::dump_service(int number, on_request request) : is_used_(number != 0 || request == on_request::yes) {
    if (!is_used_) return;
    const lock_guard guard(service_lock);
    const int chosen = server ? server->number() : 0;
    if (number != 0 && chosen != 0 && chosen != number)
        throw std::invalid_argument(signal_in_words("dump_signal", number) +
                                    ": another runtime of the process has chosen signal " + std::to_string(chosen));
    const bool is_first_with_signal = number != 0 && chosen == 0;
    if (is_first_with_signal) install_handler(number);
    try {
        if (!server)
            server = new dump_server(number);
        else if (is_first_with_signal)
            server->serve(number);
    } catch (...) {
        if (is_first_with_signal) remove_handler(number);
        throw;
    }
    waker.store(server->waker(), relaxed);
    ++service_users;
}

dump_service::~dump_service() {
    if (!is_used_) return;
    std::unique_ptr<dump_server> last;
    {
        const lock_guard guard(service_lock);
        if (--service_users != 0) return;
        waker.store(-1, relaxed);
        if (server->number() != 0) remove_handler(server->number());
        last.reset(std::exchange(server, nullptr));
    }
    // The destruction of `last` waits for a dump that is being made, which takes other locks. So it
    // runs without service_lock (FORK-1).
}

}  // namespace weft::detail
