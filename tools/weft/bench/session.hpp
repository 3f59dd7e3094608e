// session.hpp - what a workload sees of the harness: how much is asked for, and where its figures go.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "result.hpp"

namespace bench {

/// What the command line asks of every benchmark.
struct plan {
    std::vector<unsigned> workers;
    unsigned runs = 5;
    std::optional<std::uint64_t> n;        ///< instead of each benchmark's own size
    std::vector<std::string> kinds;        ///< of hogs, for preempt; none: all
    std::vector<unsigned> hogs = {1, 4, 16, 100};  ///< how many of a kind
    std::vector<std::string> ways;         ///< to feed people, for feed; none: all
    std::vector<unsigned> nutrients = {10, 100, 1000, 10'000};  ///< that each of them needs, one count after another
    bool full = false;                     ///< feed leaves out nothing because it takes long
    std::string part;                      ///< not empty: this process is the fork that measures this part once
};

class progress;

/// One benchmark being run.
class session {
public:
    session(std::string bench, const plan& wanted, progress& shown, std::function<void(const result&)> take);

    const std::vector<unsigned>& workers() const noexcept { return plan_.workers; }
    unsigned runs() const noexcept { return plan_.runs; }
    const std::string& part() const noexcept { return plan_.part; }
    const std::vector<unsigned>& hogs() const noexcept { return plan_.hogs; }
    bool wants_kind(const std::string& of_hog) const noexcept;
    const std::vector<std::string>& ways() const noexcept { return plan_.ways; }
    const std::vector<unsigned>& nutrients() const noexcept { return plan_.nutrients; }
    bool full() const noexcept { return plan_.full; }
    /// The size asked for, or the benchmark's own.
    std::uint64_t n(std::uint64_t own) const noexcept { return plan_.n.value_or(own); }
    /// The size for a slower implementation, which gets at most `most`.
    std::uint64_t at_most(std::uint64_t most, std::uint64_t own) const noexcept;

    /// Calls `once` to warm up and then runs() times; each call returns one figure.
    void measure(const label& what, const std::function<double()>& once);
    /// The same for several figures taken together; `once` returns one for each label.
    /// \returns  for each label the figures of the runs.
    std::vector<std::vector<double>> measure(const std::vector<label>& what, const std::function<std::vector<double>()>& once);
    /// As measure(), without the call to warm up: for a benchmark that reports its first run apart, or whose runs take minutes.
    std::vector<std::vector<double>> measure_cold(const std::vector<label>& what,
                                                  const std::function<std::vector<double>()>& once);
    /// A figure that was measured already, with one value for each run.
    void report(const label& what, std::vector<double> figures);

    /// Runs this benchmark's `part` in a fresh process, `times` times over.
    /// \returns  for each variant the figures of all processes together.
    /// \throws   std::runtime_error if one does not end well.
    std::map<std::string, std::vector<double>> in_fresh_processes(const std::string& part, unsigned workers, std::uint64_t n,
                                                                  unsigned times);

private:
    std::vector<std::vector<double>> take(const std::vector<label>& what, const std::function<std::vector<double>()>& once,
                                          unsigned warm_ups);

    std::string bench_;
    const plan& plan_;
    progress& shown_;
    std::function<void(const result&)> take_;
};

}  // namespace bench
