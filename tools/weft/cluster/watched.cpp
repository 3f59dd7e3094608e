#include "cluster/watched.hpp"

#include <csignal>
#include <cstdio>
#include <cstring>
#include <utility>

#include <weft/weft.hpp>

namespace cluster {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t width_of_names = 11;  // that of nats-server
constexpr auto patience = 3s;

std::string in_words(weft::io::exit_status how) {
    if (how.signal != 0) return std::string("was ended by signal ") + std::to_string(how.signal);
    return "has ended with " + std::to_string(how.code);
}

void print_lines(const std::string& name, weft::io::pipe_reader& from) {
    weft::io::buffered_reader lines(from);
    std::error_code failed;
    for (std::string line; lines.read_line(line, failed);) say(name, line);
}

void end(weft::io::process& p) noexcept {
    const weft::shield for_a_while(patience);
    std::error_code ignored;
    p.signal(SIGTERM, ignored);
    p.wait(ignored);  // what does not end is killed by the destructor of the process
}

weft::io::exit_status watch_once(const std::string& name, weft::io::process p) {
    return weft::with_scope([&](weft::scope& s) {
        if (p.out().is_open())
            s.spawn([&] {
                const weft::shield until_its_end;  // what it says last is printed, too
                print_lines(name, p.out());
            });
        try {
            return p.wait();
        } catch (...) {
            end(p);
            p.out().close();
            throw;
        }
    });
}

}  // namespace

void say(const std::string& name, const std::string& line) {
    auto text = name;
    text.resize(std::max(width_of_names, name.size()), ' ');
    text += " | " + line + '\n';
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
}

void watch(starter& starts, const watched_options& o, weft::io::process p) {
    for (;;) {
        const auto id = std::to_string(p.id());
        const auto how = watch_once(o.name, std::move(p));
        const auto pause = std::chrono::duration<double>(o.pause).count();
        char again[32];
        std::snprintf(again, sizeof again, "%g", pause);
        say("weft", o.name + " (pid " + id + ") " + in_words(how) + "; it is started again in " + again + " s");
        weft::this_fiber::sleep_for(o.pause);
        p = starts.start(o.words, o.output);
        say("weft", o.name + " is started again: pid " + std::to_string(p.id()));
    }
}

}  // namespace cluster
