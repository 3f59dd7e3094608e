// program.hpp - the feed program but for its main(): arguments, stopwatch, one line of CSV.
#pragma once

#include <execinfo.h>
#include <unistd.h>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

#include "feeding.hpp"

class bad_arguments : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct arguments {
    int people = 0;
    int nutrients = 0;
};

inline int whole_number(std::string_view name, std::string_view text) {
    int value = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    auto const complain = [&](std::string_view what) {
        throw bad_arguments(std::string(name) + " " + std::string(what) + ": \"" + std::string(text) + "\"");
    };
    if (error == std::errc::result_out_of_range) complain("is out of range");
    if (error != std::errc() || end != text.data() + text.size()) complain("is not a whole number");
    if (value < 0) complain("must not be negative");
    return value;
}

inline arguments parse(int argc, char const* const* argv) {
    if (argc != 3)
        throw bad_arguments("needs two arguments, PEOPLE and NUTRIENTS, but got " + std::to_string(argc < 1 ? 0 : argc - 1));
    return {.people = whole_number("PEOPLE", argv[1]), .nutrients = whole_number("NUTRIENTS", argv[2])};
}

class stopwatch {
public:
    void start() { since_ = clock::now(); }
    void stop() { total_ += clock::now() - since_; }
    void reset() { total_ = {}; }
    [[nodiscard]] long long microseconds() const { return std::chrono::duration_cast<std::chrono::microseconds>(total_).count(); }

private:
    using clock = std::chrono::steady_clock;
    clock::time_point since_;
    clock::duration total_{};
};

/// \returns how long it took to feed so many people, in microseconds; includes making the threads or fibers, as the reader would.
template <class Feed>
long long timed(arguments const& a, stopwatch& watch, Feed feed) {
    people all = make_people(a.people, a.nutrients);
    watch.reset();
    watch.start();
    feed(all);
    watch.stop();
    if (!all_satisfied(all)) throw std::logic_error("somebody was not fed, or too much");
    return watch.microseconds();
}

inline void print_stack_trace() {
    std::array<void*, 64> frames;
    int const depth = ::backtrace(frames.data(), static_cast<int>(frames.size()));
    ::backtrace_symbols_fd(frames.data(), depth, STDERR_FILENO);
}

/// \returns the program's exit code; what went wrong is one line on stderr, for bad arguments with a stack trace.
template <class Program>
int report_failures(char const* name, Program program) {
    try {
        program();
        return 0;
    } catch (bad_arguments const& e) {
        std::fprintf(stderr, "%s: %s\n", name, e.what());
        print_stack_trace();
        return 2;
    } catch (std::exception const& e) {
        std::fprintf(stderr, "%s: %s\n", name, e.what());
        return 1;
    }
}

inline int feed_program(int argc, char const* const* argv) {
    return report_failures("feed", [&] {
        arguments const a = parse(argc, argv);
        stopwatch watch;
        auto const threads = timed(a, watch, feed_with_threads);
        auto const fibers = timed(a, watch, feed_with_fibers);
        std::printf("%lld, %lld\n", threads, fibers);
    });
}
