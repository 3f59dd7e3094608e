// server_process.hpp - a real server for one test: a child process with a temporary folder, which ends with
// the test whatever happens.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace weft::test {

/// What a client library has said about a call that failed.
struct call_failed : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The user that a server runs as: root, which some servers refuse, or one without rights. A test that is not
/// run by root runs the servers as its own user.
enum class run_as { the_same_user, an_unprivileged_user };

/// A folder of its own below that for temporary files, removed at the end.
class working_folder {
public:
    explicit working_folder(run_as owner);
    ~working_folder();
    working_folder(const working_folder&) = delete;
    working_folder& operator=(const working_folder&) = delete;

    std::string operator/(const std::string& name) const { return path_ + '/' + name; }

private:
    std::string path_;
};

struct server_options {
    run_as user = run_as::the_same_user;
    int last_signal = 9;  ///< ends the server for good, and leaves nothing of it; SIGKILL
};

class server_process {
public:
    using options = server_options;
    using predicate = std::function<bool()>;

    /// \param words  the program, found in PATH, and its arguments
    /// \param log  a file, made if it is not there, for what it prints
    server_process(std::vector<std::string> words, std::string log, options how = {})
        : words_(std::move(words)), log_(std::move(log)), options_(how) {}
    ~server_process();
    server_process(const server_process&) = delete;
    server_process& operator=(const server_process&) = delete;

    /// Starts it, and again if it ends by itself, as one may that finds traces of its predecessor.
    /// \throws std::runtime_error with the end of its log, if it is not ready within 40 seconds
    void start(const predicate& is_ready);
    /// Ends it as a crash would.
    void kill();

private:
    bool has_ended();

    const std::vector<std::string> words_;
    const std::string log_;
    const options options_;
    pid_t child_ = -1;
};

/// Runs a program to its end. \returns the end of its log \throws std::runtime_error with that, if the
/// program does not end with 0
std::string run_program(const std::vector<std::string>& words, const std::string& log, run_as user = run_as::the_same_user);

/// Makes a key and a certificate for localhost and 127.0.0.1, signed by itself.
void make_certificate(const std::string& key, const std::string& certificate, run_as owner = run_as::the_same_user);

}  // namespace weft::test
