// progress.hpp - one line on stderr that says how far a long run is; nothing where stderr is no terminal.
#pragma once

#include "result.hpp"

namespace bench {

class progress {
public:
    progress();
    ~progress() { clear(); }
    progress(const progress&) = delete;
    progress& operator=(const progress&) = delete;

    /// Run 0 is the warm-up.
    void show(const std::string& bench, const label& what, unsigned run, unsigned runs);
    /// Takes the line away, before something else is printed.
    void clear();

private:
    const bool on_;
    bool shown_ = false;
};

}  // namespace bench
