// master_process.hpp - a running subject (program/subject.cpp), with what it has said, and clients of it.
#pragma once

#include <algorithm>
#include <csignal>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <weft/io/buffered_reader.hpp>
#include <weft/io/process.hpp>
#include <weft/net/tcp.hpp>
#include <weft/net/unix.hpp>
#include <weft/scope.hpp>

#include "support/eventually.hpp"

namespace weft::test {

/// Inside a runtime.
class master_process {
public:
    explicit master_process(std::vector<std::string> words, const std::string& program = WEFT_PREFORK_SUBJECT,
                            std::vector<int> descriptors = {})
        : process_(prepended(program, std::move(words)), {.out = io::redirect::pipe,
                                                          .err = io::redirect::pipe,
                                                          .group = io::process_group::own,
                                                          .descriptors = std::move(descriptors)}),
          out_(spawn([this] { read(process_.out()); })),
          err_(spawn([this] { read(process_.err()); })) {}
    ~master_process() {
        const shield s;
        end_all();
    }

    int id() const { return process_.id(); }
    void signal(int number) { process_.signal(number); }
    void signal_group(int number) { process_.signal_group(number); }
    /// \returns the exit code; 128 and the number of a signal. Its workers may go on.
    int exit_code() {
        const auto status = process_.wait();
        return status.signal ? 128 + status.signal : status.code;
    }
    /// Waits until no process of it has its output open.
    void await_silence() {
        if (out_.joinable()) out_.join();
        if (err_.joinable()) err_.join();
    }

    /// Closes the read ends of its output.
    void stop_reading() {
        process_.out().close();
        process_.err().close();
        await_silence();
    }

    /// Waits for a line with these words, and returns it; empty if it does not come.
    std::string line_with(std::string_view words, std::size_t times = 1) {
        std::string found;
        eventually_here([&] {
            const std::lock_guard guard(lock_);
            std::size_t n = 0;
            for (const auto& l : lines_)
                if (l.find(words) != std::string::npos && ++n == times) found = l;
            return !found.empty();
        });
        return found;
    }
    std::string all() const {
        const std::lock_guard guard(lock_);
        std::string text;
        for (const auto& l : lines_) text += l + '\n';
        return text;
    }
    net::endpoint port() {
        const auto line = line_with("port ");
        return {.host = "127.0.0.1", .port = static_cast<std::uint16_t>(line.empty() ? 0 : std::stoi(line.substr(5)))};
    }

private:
    static std::vector<std::string> prepended(const std::string& program, std::vector<std::string> words) {
        words.insert(words.begin(), program);
        return words;
    }
    void read(io::pipe_reader& from) {
        io::buffered_reader reader(from);
        for (;;) {
            std::error_code error;
            auto line = reader.read_until('\n', 65536, error);
            if (error || line.empty()) return;
            while (!line.empty() && line.back() == '\n') line.pop_back();
            const std::lock_guard guard(lock_);
            lines_.push_back(std::move(line));
        }
    }
    void end_all() {
        std::error_code ignored;
        process_.signal_group(SIGKILL, ignored);
        stop_reading();
    }

    mutable std::mutex lock_;
    std::vector<std::string> lines_;
    io::process process_;
    fiber<> out_, err_;
};

/// An answer of the subject: its words.
struct answer {
    std::string word;
    int process = 0;
    unsigned generation = 0;
    bool last = false;
};

/// A connection to the subject.
class line_client {
public:
    explicit line_client(const net::endpoint& at) : stream_(std::make_unique<io::byte_stream>(connected(at))) {}
    /// Empty if the connection has ended instead.
    std::optional<answer> ask(const std::string& word) {
        std::error_code error;
        stream_->write_all(word + '\n', error);
        std::istringstream text(error ? "" : next(error));
        answer a;
        if (error || !(text >> a.word >> a.process >> a.generation)) return std::nullopt;
        std::string close;
        a.last = static_cast<bool>(text >> close);
        return a;
    }
    std::string next(std::error_code& error) { return lines_.read_until('\n', 4096, error); }
    io::byte_stream& stream() { return *stream_; }

private:
    static io::byte_stream connected(const net::endpoint& at) {
        if (at.host.starts_with("unix:")) return unix_socket::stream::connect(unix_socket::address::of(at));
        return tcp::stream::connect(at);
    }

    std::unique_ptr<io::byte_stream> stream_;  // keeps its place when a client is moved
    io::buffered_reader<io::byte_stream> lines_{*stream_};
};

/// The processes whose parent is `process`.
std::set<int> children_of(int process);
/// Whether there is such a process, other than as a zombie.
bool is_alive(int process);

}  // namespace weft::test
