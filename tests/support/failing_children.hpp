// failing_children.hpp - the fixture of tests in which children of a scope fail: what they throw, and what the runtime reports.
#pragma once

#include <weft/scope.hpp>

#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/no_leaks.hpp"

namespace weft::test {

struct failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

inline void fails(const char* what) { throw failure(what); }

/// What f throws.
template <class F>
std::string failure_of(F&& f) {
    try {
        f();
    } catch (const failure& e) {
        return e.what();
    } catch (const cancelled&) {
        return "cancelled";
    }
    return "";
}

class failing_children : public on_workers {
protected:
    /// What nobody joined, in the order in which it was reported.
    std::vector<std::string> reported() {
        const std::lock_guard guard(lock_);
        return seen_;
    }

private:
    std::mutex lock_;
    std::vector<std::string> seen_;

protected:
    watched_runtime rt{{.workers = GetParam(), .on_unhandled = [this](const fiber_info&, const std::exception_ptr& e) {
                            try {
                                std::rethrow_exception(e);
                            } catch (const std::exception& x) {
                                const std::lock_guard guard(lock_);
                                seen_.emplace_back(x.what());
                            }
                        }}};
};

}  // namespace weft::test
