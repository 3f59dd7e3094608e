// row.hpp - the same calls on a plain thread and in fibers whose calls park must be alike.
//
// A row is a function that makes calls of one kind and notes what they give. It runs on a thread, in a fiber
// on the only worker, and in a fiber that changes its thread at each park.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace weft::test {

using namespace std::chrono_literals;

/// What fibers have done in hooked calls so far.
struct hook_totals {
    std::uint64_t parks = 0, blocks = 0;
};
hook_totals totals_of_hooks();

class notes {
public:
    enum class caller { thread, fiber };
    explicit notes(caller c);
    ~notes() { join(); }
    notes(const notes&) = delete;
    notes& operator=(const notes&) = delete;

    /// What a call has returned, and its errno if that is negative.
    void operator()(std::string_view what, long result);
    void data(std::string_view what, std::string_view bytes);

    /// Calls `action` on a thread of its own as soon as the caller of the row waits in a call that comes.
    void later(std::function<void()> action);
    /// The same, but at once.
    void beside(std::function<void()> action) { threads_.emplace_back(std::move(action)); }

    /// The call takes this long, and not much longer.
    template <class Call>
    void takes(std::chrono::milliseconds least, std::string_view what, Call call) {
        const auto begun = std::chrono::steady_clock::now();
        const long result = call();
        const int error = errno;
        note_time(what, least, std::chrono::steady_clock::now() - begun);
        errno = error;
        (*this)(what, result);
    }

    bool in_fiber() const { return caller_ == caller::fiber; }
    void join();
    const std::vector<std::string>& lines() const { return lines_; }
    /// By how much a call was too late, at most.
    std::chrono::nanoseconds late() const { return late_; }

private:
    void note_time(std::string_view what, std::chrono::nanoseconds least, std::chrono::nanoseconds took);
    void await_wait(std::uint64_t waits_before) const;

    const caller caller_;
    const pid_t thread_;
    std::vector<std::string> lines_;
    std::vector<std::thread> threads_;
    std::chrono::nanoseconds late_{0};
};

/// What the row's calls do in a fiber.
enum class in_fiber {
    park,   // at least once, and none may block
    go_on,  // never wait
    block,  // are made as they are, which is counted
    anything,
};

/// Runs the row three times, and compares.
void expect_alike(in_fiber does, const std::function<void(notes&)>& row);

/// Descriptors that are closed at the end, by the hooked close().
class pair_of_descriptors {
public:
    enum class kind { unix_stream, unix_datagram, unix_packets, tcp, pipe };
    explicit pair_of_descriptors(kind);
    ~pair_of_descriptors();
    pair_of_descriptors(const pair_of_descriptors&) = delete;
    pair_of_descriptors& operator=(const pair_of_descriptors&) = delete;

    /// 0 reads of a pipe.
    int operator[](std::size_t i) const { return fds_[i]; }
    void close(std::size_t i);
    /// Neither end gives or takes anything any more until the other does.
    void fill(std::size_t i) const;

private:
    std::array<int, 2> fds_{-1, -1};
};
using kind = pair_of_descriptors::kind;

/// A value of which the compiler knows nothing, so that it does not warn of wrong arguments.
template <class T>
T unseen(T value) {
    asm volatile("" : "+r"(value));
    return value;
}
/// An address where nothing is.
template <class T = char>
T* nowhere() {
    return reinterpret_cast<T*>(unseen(std::uintptr_t{8}));
}

/// So much that no buffer holds it.
std::string much();
/// Reads until the end, by calls that nothing stands before.
std::string drain(int fd, std::size_t most = ~std::size_t{0});
/// A socket that listens on loopback, and its address.
struct listener {
    explicit listener(int backlog = 8);
    ~listener();
    listener(const listener&) = delete;
    listener& operator=(const listener&) = delete;
    int fd = -1;
    unsigned short port = 0;
};
int connected_to(const listener&);

}  // namespace weft::test
