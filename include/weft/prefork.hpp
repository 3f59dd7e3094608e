// prefork.hpp - one program as several processes that share their ports: started, watched,
// restarted and replaced by a process that does nothing else.
//
// Rules
//   1  run() plays two parts. In the process that the program was started as, the master, it opens
//      the ports and starts the workers: processes of the same program with the same arguments. In
//      a worker it calls the function. What main() does before run(), it does in each process. A
//      worker begins with the descriptors 3, 4 and so on as its ports and pipes; what the master
//      has open under these numbers without close-on-exec is not there.
//   2  A worker that ends is started again: after a pause of 100 ms, doubled up to 5 s, if it has
//      ended before it was ready or has failed within a second of that. When the restarts of one
//      worker are more than max_restarts within `within`, and no worker of a generation that serves
//      is ready, the generation is given up: a new one that is being started may take its place;
//      without one, the master ends the workers and run() returns 1. The end of a worker that was
//      ready, with exit code 0, does not count.
//   3  SIGTERM or SIGINT to the master ends the workers, the youngest first, and run() returns 0; a
//      second one kills them. Half a second after the first, the ports that the master has
//      opened refuse connections, also those that wait to be accepted.
//      Workers know it from a reload: worker::serve() says what ends.
//   4  SIGHUP to the master (`weft reload PID`) starts a new generation of workers. When all of
//      these are ready, the old ones are ended. If one of them fails before, the new ones are ended
//      and the old ones go on. A worker is started from the program's path, so that a new
//      generation runs the program that is there by then. The path is argv[0], with the links in
//      it, if that names this program. What the master has read when it was started stays: a
//      reload changes neither listen nor grace nor processes. A SIGHUP during a reload is
//      remembered, and another reload follows.
//   5  A worker is ended by SIGTERM: it accepts no more, and has the grace to finish what it has
//      begun. After the grace its function is stopped as a fiber is; a worker that is still there
//      5 s after the grace is killed. Further SIGTERMs change nothing, since some service managers
//      send one to each process of a service, besides the master's.
//   6  All workers accept from one queue of connections, which belongs to the port and not to them:
//      neither the end of a worker nor a reload refuses or loses a connection that waits there.
//   7  SIGUSR2 to the master (`weft reload --upgrade PID`) upgrades it: its process becomes the
//      program that is at its path, with the same arguments, by exec. Process number, ports and
//      workers stay. The new master reads its options, opens ports that are new among them, and
//      replaces the workers as a reload does, by as many as its options say. Before that, a child
//      of the new program must get to run() and could open the ports; if it fails, or does not get
//      there within ready_within, nothing has changed. If the new workers do not get ready, the old
//      ones go on; one that ends then is started again as the new program. on_ready is called once
//      more, when the first generation of the new program is ready. A SIGUSR2 during a reload is
//      remembered until the old workers have ended.
//   8  A socket that a supervisor of services has given by LISTEN_PID and LISTEN_FDS, as systemd
//      does, is used for the entry of options::listen with its address. One for which there is no
//      entry is closed, and a line says so. The variables are taken out of the environment.
//   9  The master handles SIGPIPE, and a worker SIGINT, SIGHUP and SIGPIPE, by doing nothing, unless
//      the program has set an action of its own. If the master has gone, a worker that has not
//      ended 6 s after its grace is ended by SIGALRM.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <weft/child_process.hpp>
#include <weft/detail/export.hpp>
#include <weft/io/byte_listener.hpp>
#include <weft/net/endpoint.hpp>
#include <weft/net/tcp.hpp>
#include <weft/net/unix.hpp>
#include <weft/runtime.hpp>
#include <weft/scope.hpp>
#include <weft/supervisor.hpp>

namespace weft::prefork {

/// What a worker does when the master has gone without ending it, for instance by SIGKILL. drain:
/// what SIGTERM does. end: its function is stopped at once. go_on: nothing.
enum class orphans : std::uint8_t { drain, end, go_on };

/// What ends when a worker is to end. worker: this one, or its generation; others accept in its
/// place, and what it has open is worth an orderly end. program: all of it, so nobody should wait
/// for clients that are silent.
enum class ending : std::uint8_t { worker, program };

struct options {
    unsigned processes = 0;  ///< 0: one for each usable CPU
    /// TCP ports, and Unix sockets (`unix:/path`); worker::listener(i) is the i-th. The master removes
    /// the paths when it ends.
    std::vector<net::endpoint> listen = {};
    tcp::listener_options listening = {};
    unix_socket::listener_options unix_listening = {};
    /// How long a worker that is to end may take to finish what it has begun.
    std::chrono::nanoseconds grace = std::chrono::seconds(10);
    /// A worker that has not called ready() after this time has failed.
    std::chrono::nanoseconds ready_within = std::chrono::seconds(30);
    restart strategy = restart::one_for_one;  ///< within a generation
    unsigned max_restarts = 5;                ///< of one worker, within `within`; rule 2
    std::chrono::nanoseconds within = std::chrono::seconds(30);
    prefork::orphans orphans = orphans::drain;
    /// Of the workers. Lines that nobody reads from the master's stdout and stderr are kept up to
    /// 1 MiB; then the oldest are dropped, and a line says how many.
    process_output output = process_output::lines;
    std::function<void(const process_line&)> on_line = {};       ///< as process_spec::on_line; in the master
    /// Called in the master when the first generation is ready, with the ports that were opened.
    std::function<void(std::span<const net::endpoint>)> on_ready = {};
    /// Called in the master with a line for each thing that happens: a worker that ended, a reload.
    /// Nothing else is handled meanwhile. What it throws is printed and ignored. Default:
    /// "weft: prefork: " and the line, on stderr.
    std::function<void(std::string_view)> on_event = {};
    std::string name = "worker";  ///< a worker is "worker GENERATION.NUMBER" in lines and reports
    /// The runtime of a worker; with `workers` 0: the usable CPUs, divided by `processes`.
    runtime_options runtime = {};
};

/// A worker process, as the function sees it.
class WEFT_EXPORT worker {
public:
    [[nodiscard]] unsigned number() const noexcept;  ///< 1 to options::processes
    [[nodiscard]] unsigned generation() const noexcept;  ///< 1, and one more with each reload
    [[nodiscard]] std::chrono::nanoseconds grace() const noexcept;

    /// The port options::listen[i], which all workers share. Each can be taken once, by one of these.
    /// \throws std::logic_error if it was taken before, is of the other kind, or if the master has
    ///         not opened it, since that runs an older program; std::out_of_range.
    [[nodiscard]] tcp::listener listener(std::size_t i);
    [[nodiscard]] unix_socket::listener unix_listener(std::size_t i);
    /// Of either kind, as for http::server::listen().
    [[nodiscard]] io::byte_listener any_listener(std::size_t i);
    /// Its socket, of either kind, which the caller closes.
    [[nodiscard]] int descriptor(std::size_t i);

    /// Tells the master that this worker serves. Later calls do nothing.
    void ready() noexcept;

    /// Waits until this worker is to end. If neither this nor serve() has been called by then, the
    /// function is stopped as a fiber is.
    ///
    /// \parks   until then. \throws weft::cancelled
    ending wait_for_stop();

    /// Calls ready(), and then body(), which serves until stop() ends it. When the worker is to
    /// end, stop() is called on another fiber, while body() goes on. If it takes an `ending`, it is
    /// told what ends, and called once more if the program ends after it has been told that only
    /// the worker does.
    ///
    ///     w.serve([&] { server.serve(); }, [&](weft::prefork::ending what) {
    ///         what == weft::prefork::ending::program ? server.stop(w.grace()) : server.drain(w.grace());
    ///     });
    ///
    /// \parks   until body() has returned. \throws what body() and stop() throw
    template <class Body, class Stop>
    void serve(Body&& body, Stop&& stop) {
        with_scope([&](scope& s) {
            s.spawn({.name = "worker stop"}, [&] {
                [[maybe_unused]] const ending what = wait_for_stop();
                if constexpr (std::is_invocable_v<Stop&, ending>) {
                    stop(what);
                    if (what == ending::program) return;
                    wait_for_end_of_program();
                    stop(ending::program);
                } else {
                    std::forward<Stop>(stop)();
                }
            });
            note_serving();
            ready();
            std::forward<Body>(body)();
            s.request_stop();
        });
    }

    /// Internal: for weft's own parts.
    struct state;
    explicit worker(state& s) noexcept : state_(s) {}

private:
    void note_serving() noexcept;
    void wait_for_end_of_program();

    state& state_;
};

/// Runs the program as a master and its workers (rule 1).
///
///     int main(int argc, char** argv) {
///         return weft::prefork::run(argc, argv, {.processes = 4, .listen = {{"", 8080}}}, [](weft::prefork::worker& w) {
///             weft::http::server server;
///             add_routes(server);
///             server.listen(w.listener(0));
///             w.serve([&] { server.serve(); }, [&] { server.stop(w.grace()); });
///         });
///     }
///
/// It makes runtimes of its own, so it is called on a plain thread, and before other threads are
/// started. See docs/guide/17-processes.md.
///
/// \returns the exit code of this process. In a worker whose function throws: 1, after a line on
///          stderr.
/// \throws  std::invalid_argument that names the option; std::system_error if a port cannot be
///          opened or the runtime cannot be made.
WEFT_EXPORT int run(int argc, char** argv, const options&, const std::function<void(worker&)>&);

}  // namespace weft::prefork
