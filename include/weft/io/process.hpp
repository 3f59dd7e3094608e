// process.hpp - child processes as objects: started, fed and read through pipes, waited for like anything else.
//
// Started by posix_spawn, so that nothing of this process is copied and no fork contract applies; waited for by a descriptor (pidfd),
// so that SIGCHLD and other people's wait() calls are left alone.
#pragma once

#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <weft/io/pipe.hpp>

namespace weft::io {

/// What a child's standard stream is: this process's, nothing (/dev/null), or a pipe to the object.
enum class redirect { inherit, discard, pipe };

/// Which processes get a signal together with a child: those of its group. A child starts others in its own group, unless it asks for another.
enum class process_group {
    inherit,  ///< this process's
    own,  ///< one of its own, which ends with it; from a terminal it cannot read then
    session  ///< the same, in a session of its own, without a terminal
};

struct process_options {
    redirect in = redirect::inherit;
    redirect out = redirect::inherit;
    redirect err = redirect::inherit;
    std::string directory = {};  ///< to start in; empty: this process's
    std::optional<std::vector<std::string>> environment = {};  ///< "NAME=value" each; not given: this process's
    process_group group = process_group::inherit;
};

/// How a child has ended.
struct exit_status {
    int code = 0;  ///< what it returned, if `signal` is 0
    int signal = 0;  ///< what has killed it

    bool success() const noexcept { return code == 0 && signal == 0; }
};

/// One child process. Move-only. The destructor kills a child that was neither waited for nor detached, and waits for its end; if the child
/// has a group of its own, it kills all that are in there: also what the child has started.
class process {
public:
    process() noexcept = default;
    /// Starts a program, looked up in PATH unless there is a slash in its name. Of this process's descriptors the child has those
    /// that are not closed by exec(); weft's own are.
    ///
    /// \parks   for as long as the system needs to start it: as weft::blocking(), on threads that do nothing else.
    /// \throws  std::system_error, also if there is no such program or no such directory; what weft::blocking() throws.
    explicit process(std::vector<std::string> words, process_options options = {});
    process(process&& other) noexcept;
    process& operator=(process&& other) noexcept;
    ~process();

    /// Waits for the child's end, and takes it. Afterwards it answers the same at once. One caller at a time.
    ///
    /// \parks   until the child has ended. Where the system has no pidfd it looks again every 1 to 20 ms.
    /// \throws  weft::cancelled, and the child runs on; std::system_error: no_child_process if somebody else has taken its end, or
    ///          the program ignores SIGCHLD.
    exit_status wait();
    exit_status wait(std::error_code& error);
    /// Empty while it runs.
    std::optional<exit_status> try_wait();

    /// \throws std::system_error: no_such_process once its end was taken.
    void signal(int number);
    /// To all processes in the child's group, which it must have to itself.
    /// \throws std::system_error: no_such_process once wait() has returned its end: a signal to the group could then reach strangers;
    ///         operation_not_permitted if it has no group of its own.
    void signal_group(int number);
    /// Lets it run on alone. Its end is then nobody's to take until this process has ended.
    void detach() noexcept;

    bool joinable() const noexcept { return id_ > 0 && !ended_; }
    int id() const noexcept { return id_; }

    /// Empty unless the stream is a pipe.
    pipe_writer& in() noexcept { return in_; }
    pipe_reader& out() noexcept { return out_; }
    pipe_reader& err() noexcept { return err_; }

private:
    void end_now() noexcept;

    int id_ = 0;
    bool has_own_group_ = false;
    std::optional<exit_status> ended_;
    detail::io_handle ending_;  // readable when it has ended; empty where the system has no pidfd
    pipe_writer in_;
    pipe_reader out_, err_;
};

}  // namespace weft::io
