// worker.cpp - a worker process: what it was given, and how it notices that it is to end.
//
// A worker is to end when SIGTERM comes, or when the pipe that the master holds ends with it.
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <exception>
#include <optional>
#include <stdexcept>

#include <weft/event.hpp>
#include <weft/fiber.hpp>
#include <weft/io/descriptor.hpp>
#include <weft/io/signal.hpp>

#include "base/atomic.hpp"
#include "base/in_quotes.hpp"
#include "net/accepting.hpp"
#include "prefork/replace_program.hpp"
#include "prefork/role.hpp"

namespace weft::prefork {

struct worker::state {
    const options& how;
    unsigned generation = 0, number = 0;
    process_gifts gifts = {};
    std::vector<int> ports = {};  // or one of these:
    static constexpr int not_opened = -1, taken = -2;
    detail::atomic<bool> stops_itself{false};  // the function has called wait_for_stop() or serve()
    event is_to_end{}, program_ends{}, has_ended{};
    int code = 0;

    /// The descriptor of the i-th, if it can be taken.
    int& port(std::size_t i);
};

int& worker::state::port(std::size_t i) {
    if (i >= ports.size())
        throw std::out_of_range("weft: prefork: listener " + std::to_string(i) + " of " + std::to_string(ports.size()));
    if (ports[i] < 0)
        throw std::logic_error(
            "weft: prefork: listener " + std::to_string(i) +
            (ports[i] == taken ? " was taken before" : ": the master has not opened this port; restart the master"));
    return ports[i];
}

namespace {

// chosen: http::server::stop() ends by itself at the end of the grace, and comes first
constexpr std::chrono::seconds later_than_the_grace{1};

void read_role(const std::string& role, worker::state& s) {
    const auto fail = [&] {
        throw std::invalid_argument("weft: prefork: " + std::string(role_variable) + "=" + detail::in_quotes(role) +
                                    " is for the workers that a master starts");
    };
    const char* const end = role.data() + role.size();
    const auto dot = std::from_chars(role.data(), end, s.generation);
    if (dot.ec != std::errc() || dot.ptr == end || *dot.ptr != '.') fail();
    const auto rest = std::from_chars(dot.ptr + 1, end, s.number);
    if (rest.ec != std::errc() || rest.ptr == end || *rest.ptr != '@' || s.gifts.descriptor(life_descriptor) < 0) fail();
}

/// The fibers of a worker beside its function.
class watch {
public:
    watch(worker::state& s, scope& fibers, weft::child<>& body) : state_(s), fibers_(fibers), body_(body) {}

    void signals() {
        term_.wait();
        // The master has written its word before it has sent the signal.
        if (has_word(state_.gifts.descriptor(life_descriptor))) state_.program_ends.set();
        end();
        for (;;) term_.wait();  // rule 5 of prefork.hpp
    }

    void master() {
        life_ = io::descriptor::adopt(state_.gifts.descriptor(life_descriptor));
        life_.wait_readable();
        if (has_word(state_.gifts.descriptor(life_descriptor))) {
            // It stays in the pipe, for the others. The end of the pipe is not seen any more.
            state_.program_ends.set();
            die_after(state_.how.grace + later_than_the_grace + after_grace);
            return end();
        }
        if (state_.how.orphans == orphans::go_on) return;
        std::fprintf(stderr, "weft: prefork: the master has gone; this worker ends\n");
        const bool at_once = state_.how.orphans == orphans::end;
        die_after((at_once ? std::chrono::nanoseconds::zero() : state_.how.grace) + later_than_the_grace + after_grace);
        if (at_once)
            body_.request_stop();
        else
            end();
    }

private:
    static bool has_word(int pipe) noexcept {
        int bytes = 0;
        return ::ioctl(pipe, FIONREAD, &bytes) == 0 && bytes > 0;
    }
    /// The master would send SIGKILL by then. A signal, since the function may hold all threads.
    static void die_after(std::chrono::nanoseconds time) {
        constexpr std::chrono::hours longest(24 * 365);  // chosen: a number that alarm() takes
        const auto seconds = std::chrono::ceil<std::chrono::seconds>(std::min<std::chrono::nanoseconds>(time, longest));
        ::signal(SIGALRM, SIG_DFL);
        ::alarm(static_cast<unsigned>(seconds.count()));
    }
    void end() {
        if (has_begun_to_end_.exchange(true, detail::relaxed)) return;  // relaxed: only one of two calls goes on
        state_.is_to_end.set();
        if (!state_.stops_itself.load(detail::relaxed)) {  // relaxed: a call at this moment may count or not
            body_.request_stop();
            return;
        }
        fibers_.spawn({.name = "worker grace"}, [this] {
            this_fiber::sleep_for(state_.how.grace + later_than_the_grace);
            body_.request_stop();
        });
    }

    worker::state& state_;
    scope& fibers_;
    weft::child<>& body_;
    io::signals term_{SIGTERM};
    io::descriptor life_;  // open for as long as signals() may look at its number
    detail::atomic<bool> has_begun_to_end_{false};
};

/// The body of the fiber that runs the function. A stop is no failure.
void work_on(worker::state& s, const std::function<void(worker&)>& work) {
    const struct ending {
        event& over;
        ~ending() { over.set(); }
    } at_the_end{s.has_ended};
    try {
        worker here(s);
        work(here);
    } catch (const cancelled&) {
        throw;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "weft: prefork: the worker has failed: %s\n", detail::printable(e.what()).c_str());
        s.code = 1;
    } catch (...) {
        std::fprintf(stderr, "weft: prefork: the worker has failed by an exception that is not a std::exception\n");
        s.code = 1;
    }
}

}  // namespace

unsigned worker::number() const noexcept { return state_.number; }
unsigned worker::generation() const noexcept { return state_.generation; }
std::chrono::nanoseconds worker::grace() const noexcept { return state_.how.grace; }
void worker::ready() noexcept { state_.gifts.say_ready(); }
void worker::note_serving() noexcept { state_.stops_itself.store(true, detail::relaxed); }

ending worker::wait_for_stop() {
    note_serving();
    state_.is_to_end.wait();
    return state_.program_ends.is_set() ? ending::program : ending::worker;
}

void worker::wait_for_end_of_program() { state_.program_ends.wait(); }

int worker::descriptor(std::size_t i) { return std::exchange(state_.port(i), state::taken); }

tcp::listener worker::listener(std::size_t i) {
    if (detail::is_unix_socket(state_.port(i)))
        throw std::logic_error("weft: prefork: listener " + std::to_string(i) +
                               " is a Unix socket: unix_listener(), any_listener() and descriptor() take it");
    return tcp::listener::from_descriptor(descriptor(i));
}

unix_socket::listener worker::unix_listener(std::size_t i) {
    if (!detail::is_unix_socket(state_.port(i)))
        throw std::logic_error("weft: prefork: listener " + std::to_string(i) +
                               " is no Unix socket: listener(), any_listener() and descriptor() take it");
    return unix_socket::listener::from_descriptor(descriptor(i));
}

io::byte_listener worker::any_listener(std::size_t i) {
    if (detail::is_unix_socket(state_.port(i))) return unix_listener(i);
    return listener(i);
}

int run_as_worker(const options& o, const std::function<void(worker&)>& work, const std::string& role) {
    worker::state s{.how = o, .gifts = process_gifts::take()};
    read_role(role, s);
    for (std::size_t i = 0; i < o.listen.size(); ++i) s.ports.push_back(s.gifts.descriptor(port_descriptor(i)));
    // Signals that the terminal sends to all processes are the master's affair; and lines that
    // nobody reads any more are no reason to end.
    for (const int number : {SIGINT, SIGHUP, SIGPIPE}) do_nothing_at(number);
    // The thread of the master that has started this process may have blocked some (replace_program.hpp).
    unblock_signals_of_masters();
    weft::run(
        [&] {
            // Outside the scope's function, which returns before its children have ended.
            weft::child<> body;
            std::optional<watch> ends;
            with_scope([&](scope& fibers) {
                ends.emplace(s, fibers, body);
                body = fibers.spawn({.name = "worker"}, [&] { work_on(s, work); });
                fibers.spawn({.name = "worker signals"}, [&] { ends->signals(); });
                fibers.spawn({.name = "worker life"}, [&] { ends->master(); });
                s.has_ended.wait();
                fibers.request_stop();
            });
        },
        o.runtime);
    return s.code;
}

}  // namespace weft::prefork
