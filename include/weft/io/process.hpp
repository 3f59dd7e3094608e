// process.hpp - child processes as objects: start them, use their pipes, wait for them.
//
// A child is started by posix_spawn, so nothing of this process is copied and the rules of fork()
// do not apply. It is waited for through a descriptor (pidfd), so SIGCHLD and wait() calls of other
// code are left alone.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <weft/detail/export.hpp>
#include <weft/io/pipe.hpp>

namespace weft::detail {
class child_end;
}

namespace weft::io {

/// What a child's standard stream is: the stream of this process, /dev/null, or a pipe to the
/// object.
enum class redirect { inherit, discard, pipe };

/// The process group of a child. A signal to a group reaches all its processes, and those that a
/// child starts join its group unless they ask for another.
enum class process_group {
    inherit,  ///< the group of this process
    /// A group of its own, which the destructor kills as a whole. The child cannot read from a
    /// terminal then.
    own,
    /// As `own`, and in a session of its own, without a terminal.
    session
};

struct process_options {
    redirect in = redirect::inherit;
    redirect out = redirect::inherit;
    redirect err = redirect::inherit;
    /// The child's working directory; empty: that of this process.
    std::string directory = {};
    /// "NAME=value" each; not given: that of this process.
    std::optional<std::vector<std::string>> environment = {};
    process_group group = process_group::inherit;
    /// Descriptors that the child gets, under the numbers 3, 4 and so on, whether or not they are
    /// close-on-exec here. They stay this process's own.
    std::vector<int> descriptors = {};
};

/// How a child ended.
struct exit_status {
    int code = 0;  ///< its exit code, if `signal` is 0
    int signal = 0;  ///< the signal that killed it

    [[nodiscard]] bool success() const noexcept { return code == 0 && signal == 0; }
};

/// One child process:
///
///     weft::io::process list({"ls", "-l"}, {.out = weft::io::redirect::pipe});
///     std::size_t n = list.out().read_some(buffer);
///     weft::io::exit_status status = list.wait();
///
/// Move-only. The destructor kills a child that was neither waited for nor detached, and waits for
/// its end. If the child has a group of its own, the destructor kills the whole group, and with it
/// what the child has started. See docs/guide/12-process.md.
class WEFT_EXPORT process {
public:
    process() noexcept;
    /// Starts a program. It is looked up in PATH unless its name contains a slash. The child
    /// inherits those descriptors of this process that are not close-on-exec; those of weft are
    /// close-on-exec.
    ///
    /// \parks   until a thread for starting processes, none of those of weft::blocking(), has
    ///          started it.
    /// \throws  std::system_error, also if there is no such program or directory; what
    ///          weft::blocking() throws.
    explicit process(std::vector<std::string> words, process_options options = {});
    /// The object is empty on failure.
    process(std::vector<std::string> words, process_options options, std::error_code& error);
    process(std::vector<std::string> words, std::error_code& error) : process(std::move(words), {}, error) {}
    process(process&& other) noexcept;
    process& operator=(process&& other) noexcept;
    ~process();

    /// Waits for the child's end and takes its exit status. Later calls return the same status at
    /// once. One caller at a time.
    ///
    /// \parks   until the child has ended. Without a pidfd, it looks every 1 to 20 ms.
    /// \throws  weft::cancelled, and the child runs on; std::system_error: no_child_process if
    ///          other code has taken its exit status, or the program ignores SIGCHLD.
    exit_status wait();
    exit_status wait(std::error_code& error);
    /// \returns the exit status, or nothing while the child runs.
    [[nodiscard]] std::optional<exit_status> try_wait();
    [[nodiscard]] std::optional<exit_status> try_wait(std::error_code& error);

    /// Sends a signal to the child. Another fiber or thread may wait for it meanwhile.
    /// \throws std::system_error: no_such_process once its exit status was taken.
    void signal(int number);
    void signal(int number, std::error_code& error);
    /// Sends a signal to all processes in the child's group, which must be a group of its own.
    /// Another fiber or thread may wait for the child meanwhile.
    /// \throws std::system_error: no_such_process once wait() has returned the exit status, since a
    ///     signal to the group could then reach unrelated processes; operation_not_permitted if the
    ///     child has no group of its own.
    void signal_group(int number);
    void signal_group(int number, std::error_code& error);
    /// Lets the child run on without this object. Once it has ended, it stays a zombie until this
    /// process ends.
    void detach() noexcept;

    [[nodiscard]] bool joinable() const noexcept;
    [[nodiscard]] int id() const noexcept { return id_; }

    /// The pipes to the child's streams; an end is empty unless its stream is redirect::pipe.
    pipe_writer& in() noexcept { return in_; }
    pipe_reader& out() noexcept { return out_; }
    pipe_reader& err() noexcept { return err_; }

    /// Internal: for weft's own parts. A child that this process had started before it replaced
    /// its program by exec. `out` and `err`: the read ends of its pipes, or -1; they are taken.
    static process adopt(int id, int out, int err);

private:
    void end_now() noexcept;
    void watch_end() noexcept;
    std::optional<exit_status> known_end() const noexcept;
    long take_end() noexcept;
    std::error_code look_until_ended();
    long send(int target, int number) noexcept;

    int id_ = 0;
    bool has_own_group_ = false;
    std::unique_ptr<detail::child_end> end_;  // null: no child was ever started
    // Readable when the child has ended; empty where the system has no pidfd.
    detail::io_handle ending_;
    pipe_writer in_;
    pipe_reader out_, err_;
};

}  // namespace weft::io
