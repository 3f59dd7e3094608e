// options_fuzz.cpp - any options: refused with a line that names the one that is wrong, or a small program runs with them and ends.
//
// The first byte chooses whose options, each further byte one of the values below or, rarely, eight bytes of any value.
#include <weft/http/server.hpp>
#include <weft/redis/client.hpp>
#include <weft/weft.hpp>

#include <array>
#include <charconv>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/runtime_core.hpp"
#include "targets.hpp"

namespace weft::fuzz {
namespace {

using namespace std::chrono_literals;

/// Limits and their neighbours.
std::uint64_t number(choices& from) {
    constexpr std::uint64_t values[] = {0,
                                        1,
                                        2,
                                        3,
                                        10,
                                        19,
                                        20,
                                        64,
                                        100'000,
                                        512,
                                        1024,
                                        16383,
                                        16384,
                                        65536,
                                        65537,
                                        262144,
                                        1 << 30,
                                        99'999,
                                        1'000'000,
                                        1'000'001,
                                        1025,
                                        ~0ull,
                                        ~1ull,
                                        1ull << 63,
                                        (1ull << 63) - 1,
                                        (1ull << 30) + 1,
                                        1'000'000'000,
                                        1'000'000'001,
                                        10'000'000'000,
                                        10'000'000'001};
    const auto which = from.below(static_cast<unsigned>(std::size(values)) + 2);
    return which < std::size(values) ? values[which] : from.word();
}

std::chrono::nanoseconds length(choices& from) { return std::chrono::nanoseconds(static_cast<std::int64_t>(number(from))); }

/// \returns whether `f` went well; a refusal names what is wrong.
template <class F>
bool accepted(F&& f, std::initializer_list<std::string_view> names) {
    try {
        f();
        return true;
    } catch (const std::invalid_argument& e) {
        const std::string_view what = e.what();
        require_one_line(what);
        bool named = false;
        for (const auto name : names) named = named || what.find(name) != what.npos;
        require(named, "a refusal that names nothing", what);
        return false;
    }
}

void work() {
    weft::channel<int> numbers(1);
    int sum = 0;
    weft::with_scope([&](weft::scope& s) {
        s.spawn([&] {
            for (int i = 1; i < 4; ++i) numbers.send(i);
            numbers.close();
        });
        for (const int n : numbers) sum += n;
    });
    require(sum == 6, "a small program has got a wrong result");
    weft::this_fiber::sleep_for(1us);
}

// ---- the runtime

/// Thousands of threads would only show how many the machine allows.
bool is_affordable(const weft::runtime_options& o) {
    return (o.workers <= 4 || o.workers > 1024) && !(o.max_fibers == 1 && o.at_limit == weft::at_limit::park) &&
           !(o.max_fibers == 1 && o.at_limit == weft::at_limit::run_inline);
}

weft::runtime_options drawn_options(choices& from) {
    weft::runtime_options o;
    for (unsigned left = 1 + from.below(4); left > 0; --left) switch (from.below(14)) {
            case 0: o.workers = static_cast<unsigned>(number(from)); break;
            case 1: o.stack_bytes = number(from); break;
            case 2: o.time_slice = length(from); break;
            case 3: o.hog_signal = static_cast<int>(number(from)); break;
            case 4: o.dump_signal = static_cast<int>(number(from)); break;
            case 5: o.hog_nice = static_cast<int>(number(from)); break;
            case 6: o.max_carriers = static_cast<unsigned>(number(from)); break;
            case 7: o.max_fibers = number(from); break;
            case 8: o.at_limit = static_cast<weft::at_limit>(from.byte()); break;
            case 9: o.migration = static_cast<weft::migration_policy>(from.byte()); break;
            case 10: o.name = text_of(from.take(from.byte())); break;
            case 11: o.stack_census = true; break;
            case 13: o.timer_slack = length(from); break;
            case 12:
                o.simulate = weft::simulation{.seed = number(from),
                                              .switch_one_in = static_cast<std::uint32_t>(number(from)),
                                              .step = length(from),
                                              .max_steps = number(from),
                                              .max_time = length(from)};
                break;
        }
    return o;
}

void make_a_runtime(choices& from) {
    const auto o = drawn_options(from);
    if (!is_affordable(o)) return;
    accepted(
        [&] {
            try {
                weft::runtime rt(o);
                rt.run(work);
            } catch (const weft::simulation_failed& e) {
                require(o.simulate && e.why() == weft::simulation_failed::kind::too_long, "a small program fails in a simulation",
                        e.what());
            } catch (const std::system_error& e) {
                const bool may_fail = o.max_fibers != 0 && e.code() == std::errc::resource_unavailable_try_again;
                require(may_fail, "a runtime that was not refused cannot run", e.what());
            }
        },
        {"runtime_options::", "simulation::"});
}

// ---- the environment

constexpr std::array variables = {"WEFT_WORKERS",    "WEFT_TIME_SLICE_US",     "WEFT_MAX_CARRIERS", "WEFT_HOG_NICE",
                                  "WEFT_HOG_SIGNAL", "WEFT_DUMP_SIGNAL",       "WEFT_STACK_CENSUS", "WEFT_MIGRATION",
                                  "WEFT_SEED",       "WEFT_TORTURE_HAND_OFFS", "WEFT_INSPECT",      "WEFT_BLOCKING_THREADS",
                                  "WEFT_TIMER_SLACK_US"};

/// A variable as long as this lives.
class variable {
public:
    variable(const char* name, const std::string& value) : name_(name) { ::setenv(name, value.c_str(), 1); }
    ~variable() { ::unsetenv(name_); }
    variable(const variable&) = delete;
    variable& operator=(const variable&) = delete;

private:
    const char* name_;
};

std::optional<unsigned long> read_by_hand(const std::string& text, unsigned long least, unsigned long most) {
    unsigned long n = 0;
    const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (bad != std::errc() || end != text.data() + text.size() || n < least || n > most) return std::nullopt;
    return n;
}

void read_a_variable(choices& from) {
    constexpr const char* name = "WEFT_FUZZED";
    const unsigned long a = number(from), b = number(from), least = std::min(a, b), most = std::max(a, b);
    std::string text(text_of(from.rest()));
    text = text.c_str();  // up to its first zero
    const variable set(name, text);
    const auto expected = read_by_hand(text, least, most);
    const bool is_read = accepted(
        [&] {
            const auto read = weft::detail::from_environment(name, least, most);
            require(read == expected, "a variable is read as what it does not say", text);
        },
        {name});
    require(is_read == (text.empty() || expected), "a variable is refused although it is right", text);
}

void run_with_a_variable(choices& from) {
    const char* const name = variables[from.below(variables.size())];
    const auto simulated = from.below(2) == 1;
    std::string text(text_of(from.rest()));
    text = text.c_str();
    if (const auto n = read_by_hand(text, 0, ~0ul); n && std::string_view(name) == "WEFT_WORKERS" && *n > 4 && *n <= 1024) return;
    const variable set(name, text);
    accepted(
        [&] {
            weft::runtime_options o{.workers = simulated ? 1u : 2u};
            if (simulated) o.simulate.emplace();
            weft::run(work, o);
        },
        {name, "runtime_options::hog_signal", "runtime_options::dump_signal"});
}

// ---- what is not the runtime's own

/// Runs for the whole process.
weft::runtime& here() {
    static weft::runtime rt({.workers = 2});
    return rt;
}

void make_channels(choices& from) {
    const auto capacity = number(from);
    weft::channel<std::string> c(capacity);
    require(c.capacity() == capacity, "a channel has got another capacity");
    for (int i = 0; i < 4; ++i)
        require(c.try_send("x") == (static_cast<std::uint64_t>(i) < capacity),
                "a channel takes another number of values than it should");
    const auto d = length(from);
    accepted([&] { static_cast<void>(weft::after(d).try_receive()); }, {"after"});
    accepted([&] { static_cast<void>(weft::every(d).try_receive()); }, {"every"});
    accepted(
        [&] {
            auto price = weft::cell<int>::with_history(from.byte(), 1);
            price.set(2);
        },
        {"cell"});
}

void make_timeouts(choices& from) {
    const auto d = std::min<std::chrono::nanoseconds>(length(from), 1h);
    weft::event never, set;
    set.set();
    if (d < 100us) {
        require(!never.wait_for(d), "an event that nobody sets is set");
        weft::this_fiber::sleep_for(d);
    }
    require(set.wait_for(d), "an event that was set is not");
    weft::mutex m;
    require(m.try_lock_for(d), "a free mutex is not to be had");
    m.unlock();
    weft::counting_semaphore<> one(1);
    require(one.try_acquire_for(d), "a permit that is there is not to be had");
}

void serve(choices& from) {
    weft::http::server_options o{.max_header_bytes = number(from),
                                 .max_body_bytes = number(from),
                                 .header_timeout = length(from),
                                 .idle_timeout = length(from),
                                 .body_timeout = length(from),
                                 .write_timeout = length(from),
                                 .max_connections = number(from)};
    o.max_header_fields = number(from);
    o.max_query_parameters = number(from);
    o.min_rate = number(from);
    o.request_timeout = length(from);
    const auto grace = std::min<std::chrono::nanoseconds>(length(from), 1ms);
    const std::string pattern(text_of(from.rest()));
    weft::http::server s;
    const auto answer = [](const weft::http::request&) { return weft::http::text(200, "x"); };
    accepted([&] { s.get(pattern, answer); }, {"route pattern"});
    if (o.max_header_bytes > 1 << 20) return;  // the memory is the user's to give
    if (!accepted([&] { s.listen({.host = "127.0.0.1", .port = 0}, o); },
                  {"max_connections", "max_header_bytes", "max_header_fields", "header_timeout", "idle_timeout", "body_timeout",
                   "write_timeout", "request_timeout"}))
        return;
    auto serving = weft::spawn([&] { s.serve(); });
    std::error_code failed;
    auto stream = tcp::stream::connect(s.local());
    stream.write_all("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", failed);
    std::byte answered[1024];
    while (!failed && stream.read_some(answered, failed) != 0) {}
    s.stop(grace);
    serving.join();
}

void ask(choices& from) {
    weft::redis::client_options o{.connections = static_cast<unsigned>(number(from) % 8),
                                  .connect_timeout = length(from),
                                  .max_reply_bytes = number(from),
                                  .max_waiting = number(from)};
    weft::redis::client db("redis://127.0.0.1:1", o);  // where nobody listens
    try {
        static_cast<void>(db.get("a"));
        broken("somebody answers at port 1");
    } catch (const weft::redis::error& e) {
        require_one_line(e.what());
    }
}

}  // namespace

void options(bytes data) {
    choices from(data);
    switch (from.below(8)) {
        case 0:
        case 1: return make_a_runtime(from);
        case 2: return read_a_variable(from);
        case 3: return run_with_a_variable(from);
        case 4: return here().run([&] { make_channels(from); });
        case 5: return here().run([&] { make_timeouts(from); });
        case 6: return here().run([&] { serve(from); });
        case 7: return here().run([&] { ask(from); });
    }
}

}  // namespace weft::fuzz
