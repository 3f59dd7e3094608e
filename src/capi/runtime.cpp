// runtime.cpp - runtimes in C: options, callbacks, counts, and the dump.
#include <weft/runtime.hpp>

#include <weft/dump.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <ostream>
#include <streambuf>
#include <string>

#include "capi/handles.hpp"
#include "capi/hog.hpp"
#include "capi/status.hpp"

namespace weft::capi {
namespace {

using std::chrono::nanoseconds;

/// A fiber as the callbacks of C see it. The texts end with a zero byte, which those of weft need
/// not.
class info_for_c {
public:
    explicit info_for_c(const fiber_info& f)
        : name_(f.name),
          state_(f.state),
          waits_for_(f.waits_for),
          info_{.id = f.id.value,
                .name = name_.c_str(),
                .state = state_.c_str(),
                .waits_for = waits_for_.c_str(),
                .detached = f.detached} {}
    info_for_c(const info_for_c&) = delete;
    info_for_c& operator=(const info_for_c&) = delete;
    const weft_fiber_info& get() const noexcept { return info_; }

private:
    std::string name_, state_, waits_for_;
    weft_fiber_info info_;
};

/// -1 means none, 0 the default.
void set_time(nanoseconds& option, std::int64_t given) noexcept {
    if (given != 0) option = nanoseconds(std::max<std::int64_t>(given, 0));
}

const char* set_at_limit(runtime_options& into, std::int32_t given) noexcept {
    switch (given) {
        case WEFT_AT_LIMIT_PARK: into.at_limit = at_limit::park; return nullptr;
        case WEFT_AT_LIMIT_RUN_INLINE: into.at_limit = at_limit::run_inline; return nullptr;
        case WEFT_AT_LIMIT_FAIL: into.at_limit = at_limit::fail; return nullptr;
        default: return "the options: at_limit is not one of WEFT_AT_LIMIT_...";
    }
}

runtime_options options_of(const weft_runtime_options& o) {
    runtime_options r;
    r.workers = o.workers;
    if (o.max_carriers != 0) r.max_carriers = o.max_carriers;
    if (o.blocking_threads != 0) r.blocking_threads = o.blocking_threads;
    if (o.stack_bytes != 0) r.stack_bytes = o.stack_bytes;
    if (o.max_fibers != 0) r.max_fibers = o.max_fibers;
    set_time(r.time_slice, o.time_slice_ns);
    set_time(r.timer_slack, o.timer_slack_ns);
    r.hog_nice = o.hog_nice;
    r.dump_signal = o.dump_signal;
    r.inspect = o.inspect;
    r.hooks = o.hooks;
    if (o.torture_migration) r.migration = migration_policy::torture;
    if (o.name) r.name = o.name;
    if (o.on_unhandled)
        r.on_unhandled = [tell = o.on_unhandled, user = o.user](const fiber_info& f, const std::exception_ptr& failure) {
            const info_for_c fiber(f);
            const std::string words = words_of_failure(failure);
            tell(user, &fiber.get(), WEFT_EFAILED, words.c_str());
        };
    if (o.on_hog) r.on_hog = [tell = o.on_hog, user = o.user](const hog_report& h) { tell_of_hog(tell, user, h); };
    return r;
}

/// Hands what is written to a function of C, a piece at a time.
class to_function final : public std::streambuf {
public:
    to_function(void (*write)(void*, const char*, std::size_t), void* user) : write_(write), user_(user) {
        setp(piece_.data(), piece_.data() + piece_.size());
    }
    void flush() {
        if (pptr() != pbase()) write_(user_, pbase(), static_cast<std::size_t>(pptr() - pbase()));
        setp(piece_.data(), piece_.data() + piece_.size());
    }

private:
    int_type overflow(int_type c) override {
        flush();
        if (!traits_type::eq_int_type(c, traits_type::eof())) sputc(traits_type::to_char_type(c));
        return traits_type::not_eof(c);
    }

    void (*write_)(void*, const char*, std::size_t);
    void* user_;
    std::array<char, 4096> piece_;
};

}  // namespace

void tell_of_hog(void (*on_hog)(void*, const weft_hog*), void* user, const hog_report& h) {
    const info_for_c fiber(h.fiber);
    const std::string blocked_in(h.blocked_in);
    using enum hog_report::doing;
    const weft_hog report{.fiber = fiber.get(),
                          .what = h.what == computes ? WEFT_HOG_COMPUTES
                                  : h.what == blocks ? WEFT_HOG_BLOCKS
                                                     : WEFT_HOG_IGNORES_STOP,
                          .thread = h.thread,
                          .held_ns = h.held.count(),
                          .computed_ns = h.computed.count(),
                          .blocked_in = blocked_in.c_str()};
    on_hog(user, &report);
}

}  // namespace weft::capi

using namespace weft::capi;

weft_status weft_runtime_create(const weft_runtime_options* o, weft_runtime** out) {
    if (!out) return refuse("weft_runtime_create", "out is null");
    return guarded([&]() -> weft_status {
        weft_runtime_options given;
        if (const auto s = read_options("weft_runtime_create", o, given); s != WEFT_OK) return s;
        if (given.time_slice_ns < -1 || given.timer_slack_ns < -1)
            return refuse("weft_runtime_create", "the options: a time is negative, and not -1");
        auto options = options_of(given);
        if (const char* const wrong = set_at_limit(options, given.at_limit)) return refuse("weft_runtime_create", wrong);
        *out = handle_of(new weft::runtime(std::move(options)));
        return WEFT_OK;
    });
}

void weft_runtime_destroy(weft_runtime* rt) { delete runtime_of(rt); }

weft_status weft_runtime_shutdown(weft_runtime* rt, int64_t grace_ns) {
    if (!rt) return refuse("weft_runtime_shutdown", "the runtime is null");
    return guarded([&]() -> weft_status {
        const nanoseconds grace(std::max<std::int64_t>(grace_ns, 0));
        return runtime_of(rt)->shutdown(grace) ? WEFT_OK : WEFT_TIMEDOUT;
    });
}

weft_status weft_runtime_restart(weft_runtime* rt) {
    if (!rt) return refuse("weft_runtime_restart", "the runtime is null");
    if (!runtime_of(rt)->inherited()) return fail(WEFT_ESTATE, "weft_runtime_restart: the runtime runs in this process");
    return guarded([&]() -> weft_status {
        runtime_of(rt)->restart();
        return WEFT_OK;
    });
}

weft_runtime* weft_runtime_current(void) { return handle_of(weft::runtime::current()); }

weft_status weft_runtime_stats(weft_runtime* rt, weft_stats* out) {
    if (!rt) return refuse("weft_runtime_stats", "the runtime is null");
    if (!out) return refuse("weft_runtime_stats", "out is null");
    return guarded([&]() -> weft_status {
        weft_stats now;
        if (const auto s = read_options("weft_runtime_stats", out, now); s != WEFT_OK) return s;
        const auto s = runtime_of(rt)->stats();
        now = {.size = now.size,
               .fibers = s.fibers,
               .spawned = s.spawned,
               .refused = s.refused,
               .switches = s.switches,
               .parks = s.parks,
               .steals = s.steals,
               .sleeps = s.sleeps,
               .wakes = s.wakes,
               .hand_offs = s.hand_offs,
               .blocked = s.blocked,
               .stacks_in_use = s.stacks_in_use,
               .stacks_idle = s.stacks_idle,
               .stacks_unguarded = s.stacks_unguarded,
               .workers = s.workers,
               .carriers = s.carriers,
               .blocking_threads = s.blocking_threads};
        *out = now;
        return WEFT_OK;
    });
}

weft_status weft_dump(int format, void (*write)(void* user, const char* text, size_t n), void* user) {
    if (format != WEFT_DUMP_TEXT && format != WEFT_DUMP_JSON) return refuse("weft_dump", "format is not one of WEFT_DUMP_...");
    if (!write) return refuse("weft_dump", "write is null");
    return guarded([&]() -> weft_status {
        to_function buffer(write, user);
        std::ostream to(&buffer);
        weft::dump(to, {.format = format == WEFT_DUMP_JSON ? weft::dump_format::json : weft::dump_format::text});
        buffer.flush();
        return WEFT_OK;
    });
}
