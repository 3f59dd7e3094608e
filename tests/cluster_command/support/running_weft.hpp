// running_weft.hpp - the weft command while it runs, and the lines that it has printed so far.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <optional>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include "support/lasting_children.hpp"
#include "tools/support/scratch.hpp"

namespace weft::test {

class running_weft {
public:
    explicit running_weft(std::vector<std::string> words) {
        words.insert(words.begin(), WEFT_COMMAND);
        const int out = ::open((folder_ / "out").c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
        child_ = start_child(std::move(words), SIGTERM, [&] {
            ::dup2(out, 1);
            ::dup2(out, 2);
        });
        ::close(out);
    }
    ~running_weft() {
        if (child_ > 0) end_by(SIGTERM);
    }
    running_weft(const running_weft&) = delete;
    running_weft& operator=(const running_weft&) = delete;

    std::string text() const { return text_of(folder_ / "out"); }

    /// All matches of the pattern so far; each is its groups, the whole first.
    std::vector<std::vector<std::string>> all(const std::string& pattern) const {
        const auto now = text();
        const std::regex what(pattern);
        std::vector<std::vector<std::string>> found;
        for (std::sregex_iterator m(now.begin(), now.end(), what), end; m != end; ++m) {
            found.emplace_back();
            for (const auto& group : *m) found.back().push_back(group.str());
        }
        return found;
    }

    /// The process of the table that is printed first. 0: there is none of that name
    pid_t pid_of(const std::string& name) const {
        const auto found = all("(?:^|\n)" + name + " +pid ([0-9]+)");
        return found.empty() ? 0 : std::stoi(found[0][1]);
    }

    /// \returns the exit code; 128 and the signal if one has ended it
    int end_by(int signal) {
        ::kill(child_, signal);
        int status = 0;
        ::waitpid(child_, &status, 0);
        child_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }

private:
    scratch folder_;
    pid_t child_ = -1;
};

/// Whether it becomes true within the limit.
inline bool becomes_true(const std::function<bool()>& f, std::chrono::seconds limit = std::chrono::seconds(90)) {
    for (const auto until = std::chrono::steady_clock::now() + limit; std::chrono::steady_clock::now() < until;) {
        if (f()) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return f();
}

/// Whether a process is gone, or has ended and nobody has asked how.
inline bool has_ended(pid_t process) {
    std::ifstream stat("/proc/" + std::to_string(process) + "/stat");
    std::string text;
    if (!std::getline(stat, text)) return true;
    const auto state = text.rfind(") ");
    return state != std::string::npos && text[state + 2] == 'Z';
}

}  // namespace weft::test
