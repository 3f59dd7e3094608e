// starter.hpp - starts children that end with this process, however it ends.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <weft/io/process.hpp>

namespace cluster {

/// Where a child's stdout and stderr go: a pipe to this process, or a file.
struct child_output {
    std::string file;  ///< empty: the pipe process::out()
};

/// The system ends a child (PR_SET_PDEATHSIG) with the thread that has started it, which weft::io::process
/// does not keep. So all children are started on one thread, which lives as long as this.
class starter {
public:
    starter();
    ~starter();
    starter(const starter&) = delete;
    starter& operator=(const starter&) = delete;

    /// Starts a program in a process group of its own, so that the Ctrl-C of a terminal does not reach it.
    /// \param words  the first is the path of the program
    /// \parks until it was started \throws std::system_error
    weft::io::process start(const std::vector<std::string>& words, const child_output&);

private:
    void serve();

    std::mutex lock_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> jobs_;
    bool is_over_ = false;
    std::thread thread_;
};

}  // namespace cluster
