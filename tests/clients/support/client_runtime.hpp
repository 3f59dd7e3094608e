// client_runtime.hpp - the runtime of these tests: each park moves the fiber, and hogs are not printed.
#pragma once

#include <weft/runtime.hpp>

namespace weft::test {

inline runtime_options client_runtime() {
    return {.workers = 4, .on_hog = [](const hog_report&) {}, .hooks = true, .migration = migration_policy::torture};
}

}  // namespace weft::test
