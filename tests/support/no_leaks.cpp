#include "support/no_leaks.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "arch/valgrind.hpp"
#include "base/under_sanitizer.hpp"
#include "support/eventually.hpp"
#include "support/scale.hpp"

#if WEFT_UNDER_TSAN
#include <sanitizer/common_interface_defs.h>
#endif

namespace weft::test {
namespace {

/// ThreadSanitizer looks up names for each report, also for one that a suppression drops. It does so by a
/// process that it starts with the first report, and to which it keeps two pipes. This starts the process, so
/// that the pipes are open before descriptors are counted.
void start_symbolizer() {
#if WEFT_UNDER_TSAN
    static const bool started = [] {
        std::array<char, 256> name;
        __sanitizer_symbolize_pc(reinterpret_cast<void*>(&std::abort), "%f", name.data(), name.size());
        return true;
    }();
    static_cast<void>(started);
#endif
}

std::mutex watched_lock;
std::vector<weft::runtime*> watched;

void print(const fiber_info& f) {
    std::fprintf(stderr, "  fiber %llx \"%.*s\": %.*s, waits for %.*s\n", static_cast<unsigned long long>(f.id.value),
                 static_cast<int>(f.name.size()), f.name.data(), static_cast<int>(f.state.size()), f.state.data(),
                 static_cast<int>(f.waits_for.size()), f.waits_for.data());
}

void print(const weft::runtime& rt) {
    const auto s = rt.stats();
    std::fprintf(stderr, "runtime: workers %u, fibers %llu of %llu, switches %llu, sleeps %llu\n", s.workers,
                 static_cast<unsigned long long>(s.fibers), static_cast<unsigned long long>(s.spawned),
                 static_cast<unsigned long long>(s.switches), static_cast<unsigned long long>(s.sleeps));
    int left = 40;  // chosen: a screenful
    rt.for_each_fiber([&](const fiber_info& f) {
        if (--left >= 0) print(f);
    });
}

[[noreturn]] void report_hang() {
    const auto* const test = ::testing::UnitTest::GetInstance()->current_test_info();
    std::fprintf(stderr, "test %s.%s hangs\n", test ? test->test_suite_name() : "?", test ? test->name() : "?");
    const std::lock_guard guard(watched_lock);
    for (const auto* rt : watched) print(*rt);
    std::abort();
}

std::chrono::seconds patience() {
    if (detail::running_on_valgrind()) return std::chrono::seconds(600);
    return std::chrono::seconds(sanitized ? 100 : 50);
}

}  // namespace

std::set<std::string> open_descriptors() {
    start_symbolizer();
    std::set<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code gone;  // the directory's own descriptor, for one
        auto target = std::filesystem::read_symlink(entry.path(), gone).string();
        if (gone || target.ends_with("/fd")) continue;
        if (const std::string_view unlinked = " (deleted)"; target.ends_with(unlinked))  // a log that its owner replaces
            target.resize(target.size() - unlinked.size());
        found.insert(entry.path().filename().string() + " " + target);
    }
    return found;
}

watched_runtime::watched_runtime(runtime_options options) : weft::runtime(std::move(options)) {
    const std::lock_guard guard(watched_lock);
    watched.push_back(this);
}

watched_runtime::~watched_runtime() {
    const std::lock_guard guard(watched_lock);
    std::erase(watched, this);
}

watchdog::watchdog(std::chrono::seconds patience)
    : thread_([this, patience] {
          std::unique_lock guard(lock_);
          if (!over_.wait_for(guard, patience, [this] { return done_; })) report_hang();
      }) {}

watchdog::~watchdog() {
    {
        const std::lock_guard guard(lock_);
        done_ = true;
    }
    over_.notify_one();
    thread_.join();
}

no_leaks::no_leaks() : descriptors_(open_descriptors()), threads_(threads_alive_at_first()), watchdog_(patience()) {}

no_leaks::~no_leaks() {
    EXPECT_EQ(open_descriptors(), descriptors_) << "a descriptor survives";
    // One more for the watchdog. A joined thread may show for a moment still.
    EXPECT_TRUE(eventually([&] { return threads_alive() <= threads_ + 1; })) << threads_alive() << " threads survive";
}

}  // namespace weft::test
