// child_process.hpp - a process as the child of a supervisor: started, restarted and stopped as an
// actor is.
//
// Rules
//   1  A life of the child is one process. It begins by exec, never by fork(), so that a restart
//      begins with nothing of the life before.
//   2  stop(), by the handle or by the supervisor, sends SIGTERM, and SIGKILL to a process that has
//      not ended within child_attributes::shutdown. kill() sends SIGKILL.
//   3  The reason of an end: exit code 0 is `normal`; an end that was asked for by SIGTERM is
//      `stopped`; another signal is `killed`; another exit code, a process that could not be
//      started, and one that was not ready in time are `failed`, with process_failed or
//      std::system_error.
//   4  If this process is killed, its children run on, without their supervisor; a child may notice
//      that by the end of a pipe that it was given. (The workers of weft::prefork do.)
//   5  Of child_attributes only name, keep and shutdown apply.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>
#include <weft/io/process.hpp>
#include <weft/supervisor.hpp>

namespace weft {

namespace detail {
class process_child;
}

/// The failure of a process that is the child of a supervisor: "exit code 3". See
/// docs/guide/17-processes.md.
class WEFT_EXPORT process_failed : public std::runtime_error {
public:
    process_failed(const std::string& what, io::exit_status how) : std::runtime_error(what), how_(how) {}
    [[nodiscard]] const io::exit_status& status() const noexcept { return how_; }

private:
    io::exit_status how_;
};

/// A descriptor of this process that a child gets under a name, for instance a listening socket.
struct named_descriptor {
    std::string name;  ///< letters, digits, '-', '_' and '.'
    int descriptor = -1;  ///< stays the caller's, and must be open whenever the child is started
};

/// One line that a process has written.
struct process_line {
    std::string_view child;  ///< its child_attributes::name
    bool is_error = false;  ///< it came from stderr
    std::string_view text;  ///< without the line feed; of a longer line, pieces of 64 KiB
};

/// Where the output of a process goes. inherit: to stdout and stderr of this process, as it is.
/// lines: line by line, to process_spec::on_line, or if there is none to stdout and stderr of this
/// process with the child's name in front.
enum class process_output : std::uint8_t { inherit, lines };

/// What a supervised process is.
///
///     weft::child_process thumbs = weft::start_process(sup, {.name = "thumbs"}, {.words = {"thumbnailer", "-q"}});
struct process_spec {
    /// The program and its arguments. If the first is empty, or there is none, the program is that
    /// of this process, by its path without links.
    std::vector<std::string> words = {};
    /// The child gets them under the numbers 3, 4 and so on, and finds their names in the
    /// environment variable WEFT_LISTEN ("web=3 admin=4"); process_gifts reads it.
    std::vector<named_descriptor> descriptors = {};
    /// "NAME=value" each, besides the environment of this process, or in its place.
    std::vector<std::string> environment = {};
    std::string directory = {};  ///< as io::process_options::directory
    io::process_group group = io::process_group::inherit;
    /// If positive, the child is ready when it has written a byte to the descriptor whose number is
    /// in the environment variable WEFT_READY (process_gifts::say_ready()), and fails if it has not
    /// done so after this time. Zero: it is ready when it has started.
    std::chrono::nanoseconds ready_within = std::chrono::nanoseconds::zero();
    /// How long the child waits before it lives again, if its life has ended before it was ready, or
    /// has failed within a second of that. Twice as long after each further such life, up to 5 s.
    std::chrono::nanoseconds pause = std::chrono::nanoseconds::zero();
    process_output output = process_output::lines;
    /// Called on fibers of the child, for stdout and stderr at once perhaps. It may park, and the
    /// process then waits once its pipe is full. The life, and so a stop of the child, ends only
    /// after the calls for all lines. What it throws is printed and ignored.
    std::function<void(const process_line&)> on_line = {};
};

/// A reference to a process that is the child of a supervisor. A handle: copies name the same
/// child, and are valid whatever becomes of it.
class WEFT_EXPORT child_process {
public:
    /// Stops the child for good and removes it from its supervisor. Does not wait.
    /// \returns false if it was removed already.
    bool stop() const noexcept;
    /// Sends SIGTERM to the process, and SIGKILL after child_attributes::shutdown, as the
    /// supervisor's stop would; the supervisor then treats the end as any other. Does not wait.
    void end_life() const noexcept;
    /// Sends a signal to the process. \returns false if there is none.
    bool signal(int number) const noexcept;

    /// Waits until the child has been ready: until its process has said so, in whichever life. It
    /// may have ended since; is_ready() tells.
    ///
    /// \returns false if it was removed, or its supervisor has ended, first.
    /// \parks   until then. \throws weft::cancelled
    bool wait_until_ready() const;

    /// \returns the number of its process; 0 while it has none.
    [[nodiscard]] int id() const noexcept;
    [[nodiscard]] bool is_ready() const noexcept;
    /// \returns whether the process of its latest life is ready, or was when it ended.
    [[nodiscard]] bool was_ready() const noexcept;
    [[nodiscard]] const std::string& name() const noexcept;

    /// Internal: for weft's own parts.
    explicit child_process(std::shared_ptr<detail::process_child> made) noexcept : child_(std::move(made)) {}
    [[nodiscard]] detail::process_child& core() const noexcept { return *child_; }

private:
    std::shared_ptr<detail::process_child> child_;
};

/// Starts a process as a child of a supervisor. It returns before the process runs; a program that
/// cannot be started is a failure of the child.
///
/// \throws  actor_gone if the supervisor has ended or is ending; std::invalid_argument that names
///          what is wrong with the spec; what spawn() throws.
WEFT_EXPORT child_process start_process(const actor_ref<supervisor>&, const child_attributes&, process_spec);

/// What a process has been given by the supervisor that has started it.
///
///     auto gifts = weft::process_gifts::take();
///     auto web = weft::tcp::listener::from_descriptor(gifts.descriptor("web"));
///     gifts.say_ready();
class WEFT_EXPORT process_gifts {
public:
    /// Reads WEFT_LISTEN and WEFT_READY and removes them from the environment, so that programs
    /// which this process starts do not take them for theirs; makes the descriptors close-on-exec.
    /// Not while other threads use the environment. Without these variables it is empty.
    /// \throws std::invalid_argument that quotes a variable which it cannot read.
    [[nodiscard]] static process_gifts take();

    /// \returns the number of the descriptor of that name, which the caller may own; -1 if there is
    ///          none.
    [[nodiscard]] int descriptor(std::string_view name) const noexcept;
    /// Tells the supervisor that this process is ready. Does nothing if that was not asked for, and
    /// when called again.
    void say_ready() noexcept;

private:
    std::map<std::string, int, std::less<>> descriptors_;
    int ready_ = -1;
};

}  // namespace weft
