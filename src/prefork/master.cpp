// master.cpp - the process that holds the ports, and decides which generations of workers there are.
//
// One class, since an upgrade hands over, and takes over, all that a master knows.
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>

#include <weft/event.hpp>
#include <weft/fiber.hpp>
#include <weft/io/signal.hpp>
#include <weft/runtime.hpp>
#include <weft/stop.hpp>

#include "base/direct.hpp"
#include "base/in_quotes.hpp"
#include "fiber/hook.hpp"
#include "prefork/generation.hpp"
#include "prefork/line_writer.hpp"
#include "prefork/replace_program.hpp"

namespace weft::prefork {
namespace {

using kind = event_of_master::kind;

// chosen: workers that were told to end have stopped accepting by then. What connects later waits for
// nobody, so it is refused.
constexpr std::chrono::milliseconds until_none_accepts{500};
constexpr std::chrono::seconds for_the_last_lines{1};  // chosen: a reader that is there takes them at once
constexpr std::chrono::milliseconds look_again{1};  // chosen: a process is started in about this time

/// The pipe of which each worker has the read end, and nobody but the master the write end. It
/// ends with the master; a byte in it says that the whole program ends.
struct life_line {
    detail::owned_descriptor reader, writer;

    explicit life_line(const std::optional<handover>& left) {
        if (left) {
            reader = detail::owned_descriptor(left->life_reader);
            writer = detail::owned_descriptor(left->life_writer);
            return;
        }
        int ends[2];
        if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
            throw std::system_error(errno, std::generic_category(), "weft: prefork: a pipe");
        reader = detail::owned_descriptor(ends[0]);
        writer = detail::owned_descriptor(ends[1]);
    }
    void say_the_program_ends() const noexcept { [[maybe_unused]] const auto n = detail::direct::write(writer.get(), "\n", 1); }
};

class master {
public:
    master(const options& o, master_beginning b)
        : options_(o), words_(std::move(b.words)), left_(std::move(b.left)), life_(left_) {
        if (!options_.on_line)
            options_.on_line = [this](const process_line& l) {
                std::string line(l.child);
                ((line += ": ") += l.text) += '\n';
                output_.add(l.is_error ? STDERR_FILENO : STDOUT_FILENO, std::move(line));
            };
        if (left_)
            for (const auto& p : left_->ports) spare_ports_.push_back(open_port::taken(p.asked, p.descriptor, p.whose, p.file));
        for (const auto& d : b.given) take_given(d);
        ports_ = open_ports(o, spare_ports_, [this] { handle_signals(); });
        if (!left_) close_spare_ports();
        for (std::size_t i = 0; i < ports_.size(); ++i) given_.push_back({port_descriptor(i), ports_[i].descriptor()});
        given_.push_back({std::string(life_descriptor), life_.reader.get()});
    }

    int run() {
        // Goes first, while SIGHUP is still handled. Without it, where the system refuses the call,
        // `weft reload` refuses, and SIGHUP works.
        const detail::owned_descriptor mark(left_ ? left_->mark : ::memfd_create(mark_of_masters, MFD_CLOEXEC));
        mark_ = mark.get();
        with_scope([&](scope& fibers) {
            fibers_ = &fibers;
            fibers.spawn({.name = "prefork output"}, [&] { output_.write_until_stopped(); });
            for (const int number : noted_signals::take()) send_signal(number);
            fibers.spawn({.name = "prefork signals"}, [&] {
                for (;;) send_signal(requests_->wait());
            });
            if (left_)
                take_over();
            else
                start_next();
            while (!generations_.empty()) handle(*events_.receive());
            output_.finish(for_the_last_lines);
            fibers.request_stop();
        });
        return code_;
    }

private:
    void handle_signals() { requests_.emplace({SIGTERM, SIGINT, SIGHUP, SIGUSR2}); }

    void handle(const event_of_master& e) {
        switch (e.what) {
            case kind::signal: return e.number == SIGHUP ? reload() : e.number == SIGUSR2 ? upgrade() : stop();
            case kind::worker_ended: return worker_ended(e);
            case kind::ready: return ready(e.number);
            case kind::ended: return ended(e);
            case kind::checked: return checked(e.text);
        }
    }

    void send_signal(int number) { events_.send({.what = kind::signal, .number = static_cast<unsigned>(number)}); }

    void take_given(const given_descriptor& d) {
        try {
            spare_ports_.push_back(open_port::taken(std::nullopt, d.number, opened_by::supervisor));
        } catch (const std::system_error&) {
            detail::direct::close(d.number);
            say("descriptor " + std::to_string(d.number) + " of LISTEN_FDS" +
                (d.name.empty() ? "" : ", " + detail::in_quotes(d.name)) +
                ", is no listening TCP socket or Unix socket for streams; it is closed");
        }
    }

    void close_spare_ports() {
        for (const auto& p : spare_ports_)
            say("LISTEN_FDS has a socket on " + to_string(p.local()) + ", which is not in options::listen; it is closed");
        spare_ports_.clear();
    }

    void start_next() {
        next_ = ++last_number_;
        generations_.push_back(std::make_unique<generation>(next_, options_, words_, given_, *fibers_, events_));
    }

    void stop() {
        const bool at_once = std::exchange(has_been_signalled_, true);
        say(at_once ? "a second signal: the workers are killed" : "a signal: the workers are ended");
        end_all(at_once);
    }

    void end_all(bool at_once) {
        for (auto g = generations_.rbegin(); g != generations_.rend(); ++g) at_once ? (*g)->kill() : (*g)->end();
        if (std::exchange(is_stopping_, true)) return;
        life_.say_the_program_ends();
        fibers_->spawn({.name = "prefork ports"}, [this] {
            this_fiber::sleep_for(until_none_accepts);
            for_each_port([](open_port& p) { p.refuse_connections(); });
        });
    }

    void reload() {
        if (is_stopping_) return;
        if (is_busy("a reload")) {
            reloads_again_ = true;
            return;
        }
        start_next_for("reload");
    }

    void start_next_for(const std::string& what) {
        try {
            start_next();
            say(what + ": generation " + std::to_string(next_) + " is started");
        } catch (const std::exception& e) {
            next_ = 0;
            say(what + ": " + std::string(e.what()) + "; generation " + std::to_string(current_) + " goes on");
        }
    }

    /// Says so, if what was asked for has to wait.
    bool is_busy(const std::string& asked) {
        if (next_ == 0 && !is_checking_) return false;
        say(asked + " was asked for while " +
            (is_checking_ ? "the new program is checked" : "generation " + std::to_string(next_) + " is not ready yet") +
            "; it follows");
        return true;
    }

    /// Of both, the upgrade is enough: it starts a generation, too.
    void do_what_was_asked() {
        if (std::exchange(upgrades_again_, false)) return upgrade();
        if (std::exchange(reloads_again_, false)) reload();
    }

    void upgrade() {
        if (is_stopping_) return;
        if (is_busy("an upgrade")) {
            upgrades_again_ = true;
            return;
        }
        // So that the handover is of one generation, and no process ends during the exec that is
        // known to end soon.
        if (const auto ending = std::ranges::find_if(generations_, &generation::is_ending); ending != generations_.end()) {
            upgrades_again_ = true;
            return say("an upgrade was asked for while generation " + std::to_string((*ending)->number()) +
                       " is ending; it follows");
        }
        is_checking_ = true;
        say("upgrade: the new program is checked");
        fibers_->spawn({.name = "prefork check"}, [this] { events_.send({.what = kind::checked, .text = check()}); });
    }

    /// Starts the program as a child that only tries whether it could be a master.
    /// \returns what is wrong with it; empty if nothing
    std::string check() {
        try {
            const auto file = state({}).written();
            std::string why;
            event ended;
            supervisor parent({.name = "upgrade", .on_end = [&](const child_report& r) {
                                   if (r.reason.abnormal()) why = r.reason.what();
                                   ended.set();
                               }});
            std::vector<named_descriptor> given{{std::string(handover_descriptor), file.get()}};
            for_each_port([&](const open_port& p) { given.push_back({port_descriptor(given.size() - 1), p.descriptor()}); });
            const auto child = start_process(
                parent, {.name = "upgrade check", .keep = child_kind::temporary, .shutdown = std::chrono::seconds(1)},
                {.words = words_,
                 .descriptors = std::move(given),
                 .environment = {std::string(upgrade_variable) + "=check@" + std::to_string(::getpid())},
                 .ready_within = options_.ready_within,
                 .on_line = options_.on_line});
            // It has this time once to get ready, which its supervisor sees to, and once to end.
            if (!ended.wait_for(2 * options_.ready_within)) return "it has not ended after it was ready";
            return !why.empty() || child.was_ready() ? why : "it has ended without weft::prefork::run()";
        } catch (const std::exception& e) {
            return e.what();
        }
    }

    void checked(const std::string& why) {
        is_checking_ = false;
        if (is_stopping_) return;
        if (upgrades_again_ && why.empty()) return do_what_was_asked();  // another program may lie there by now
        say("upgrade: " + (why.empty() ? "process " + std::to_string(::getpid()) + " becomes the new program"
                                       : "the check of the new program " + why + "; nothing has changed"));
        if (why.empty()) become_the_new_program();
        do_what_was_asked();
    }

    /// Returns if that is not possible; then nothing has changed.
    void become_the_new_program() {
        std::vector<event_of_master> late;
        std::string why;
        try {
            hold_all();
            for (const auto until = std::chrono::steady_clock::now() + for_the_last_lines;
                 !output_.is_idle() && std::chrono::steady_clock::now() < until;)
                output_.finish(for_the_last_lines);
            // From here on no other fiber gets the worker: what it did would be lost.
            const pending_signals kept;
            while (const int number = requests_->try_wait()) ::kill(::getpid(), number);
            while (auto e = events_.try_receive()) late.push_back(std::move(*e));
            auto left = state(hold_all());
            for (const auto& e : late)
                if (e.what == kind::worker_ended) left.lines.push_back(e.text);
            std::erase_if(late, [](const auto& e) {  // a signal comes again, here or to the new program
                return e.what == kind::signal && ::kill(::getpid(), static_cast<int>(e.number)) == 0;
            });
            const auto file = left.written();
            auto passed = left.descriptors();
            passed.push_back(file.get());
            auto words = words_;
            if (words[0].empty()) words[0] = detail::own_program();
            const auto variable =
                std::string(upgrade_variable) + '=' + std::to_string(file.get()) + '@' + std::to_string(::getpid());
            const int error = replace_program(words, variable, passed);
            why = "cannot run " + words[0] + ": " + std::strerror(error);
        } catch (const std::exception& e) {
            why = e.what();
        }
        find(current_)->release();
        for (auto& e : late) events_.send(std::move(e));
        say("upgrade: " + why + "; nothing has changed");
    }

    /// Waits while a worker is being started.
    std::vector<detail::running_process> hold_all() {
        for (const auto until = std::chrono::steady_clock::now() + options_.ready_within;; this_fiber::sleep_for(look_again)) {
            if (auto all = find(current_)->hold()) return std::move(*all);
            if (std::chrono::steady_clock::now() > until)
                throw std::runtime_error("a worker is being started, and that takes long");
        }
    }

    template <class F>
    void for_each_port(F&& f) {
        for (auto* const ports : {&ports_, &spare_ports_})
            for (auto& p : *ports) f(p);
    }

    handover state(std::vector<detail::running_process> workers) {
        handover all{.last_number = last_number_,
                     .current = current_,
                     .grace = options_.grace,
                     .mark = mark_,
                     .life_reader = life_.reader.get(),
                     .life_writer = life_.writer.get(),
                     .workers = std::move(workers)};
        for_each_port([&](const open_port& p) { all.ports.push_back({p.asked(), p.descriptor(), p.whose(), p.file()}); });
        return all;
    }

    /// Adopts the workers of the program before this one, and starts its own.
    void take_over() {
        for (auto& line : left_->lines) say(line);
        last_number_ = left_->last_number;
        current_ = left_->current;
        auto as_started = options_;
        as_started.processes = static_cast<unsigned>(left_->workers.size());
        as_started.grace = left_->grace;
        generations_.push_back(
            std::make_unique<generation>(current_, as_started, words_, given_, *fibers_, events_, std::move(left_->workers)));
        start_next_for("upgrade");
    }

    /// A generation must be without failure until it is ready, unless there is no other to fall
    /// back to.
    void worker_ended(const event_of_master& e) {
        say(e.text);
        auto* const g = find(e.number);
        if (!g || g->is_ending() || is_stopping_) return;
        if (e.number == next_ && current_ != 0) {
            say("generation " + std::to_string(next_) + " is given up, since it has not got ready; generation " +
                std::to_string(current_) + " goes on");
            next_ = 0;
            g->end();
            return do_what_was_asked();
        }
        if (!e.failed || !g->note_failure(e.worker)) return;
        if (e.number == current_ && g->has_ready_workers()) return;
        const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(options_.within).count();
        give_up(e.number,
                "more than " + std::to_string(options_.max_restarts) + " restarts of a worker in " + std::to_string(ms) + " ms");
    }

    void give_up(unsigned number, const std::string& why) {
        const std::string line = "generation " + std::to_string(number) + " is given up: " + why;
        if (number == current_ && next_ != 0) {
            say(line + "; generation " + std::to_string(next_) + " may take its place");
            current_ = 0;
            if (auto* const g = find(number)) g->end();
            return;
        }
        say(line);
        code_ = 1;
        end_all(false);
    }

    void ready(unsigned number) {
        const auto* const g = find(number);
        if (!g || number != next_ || is_stopping_) return;
        const auto old = std::exchange(current_, std::exchange(next_, 0));
        say("generation " + std::to_string(number) + " is ready, " + std::to_string(g->size()) +
            (g->size() == 1 ? " process" : " processes") + (old ? "; generation " + std::to_string(old) + " ends" : ""));
        if (auto* const before = find(old)) before->end();
        spare_ports_.clear();
        if (!std::exchange(has_said_ready_, true)) say_ready();
        do_what_was_asked();
    }

    void ended(const event_of_master& e) {
        const auto* const g = find(e.number);
        const bool was_asked = g && g->is_ending();
        std::erase_if(generations_, [&](const auto& other) { return other->number() == e.number; });
        say("generation " + std::to_string(e.number) + " has ended");
        if (!was_asked) return give_up(e.number, e.text);
        if (upgrades_again_ && next_ == 0 && !is_checking_ && generations_.size() == 1) do_what_was_asked();
    }

    generation* find(unsigned number) {
        const auto at = std::ranges::find_if(generations_, [&](const auto& g) { return g->number() == number; });
        return at == generations_.end() ? nullptr : at->get();
    }

    void say_ready() {
        if (!options_.on_ready) return;
        std::vector<net::endpoint> at;
        for (const auto& p : ports_) at.push_back(p.local());
        detail::call_hook("on_ready", [&] { options_.on_ready(at); });
    }

    void say(const std::string& line) {
        detail::call_hook("on_event", [&] {
            if (options_.on_event) return options_.on_event(line);
            output_.add(STDERR_FILENO, "weft: prefork: " + line + '\n');
        });
    }

    options options_;
    line_writer output_;
    const std::vector<std::string> words_;
    std::optional<handover> left_;
    life_line life_;
    std::optional<io::signals> requests_;  // outlives the ports: no signal may end this while they have paths
    std::vector<open_port> ports_;
    std::vector<open_port> spare_ports_;  // of the program before this one, which may be needed again
    std::vector<named_descriptor> given_;
    int mark_ = -1;
    scope* fibers_ = nullptr;
    channel<event_of_master> events_{unbounded};
    std::vector<std::unique_ptr<generation>> generations_;  // the youngest is the last
    unsigned last_number_ = 0;
    unsigned next_ = 0, current_ = 0;  // 0: none
    bool is_stopping_ = false, has_been_signalled_ = false;
    bool is_checking_ = false;  // a new program
    bool reloads_again_ = false, upgrades_again_ = false;  // once next_ is ready or given up, and the check over
    bool has_said_ready_ = false;
    int code_ = 0;
};

// The runtime of a master has one worker thread, whatever the environment says: that is for workers.
class without_variable {
public:
    explicit without_variable(const char* name) : name_(name) {
        const char* const value = ::getenv(name);
        if (!value) return;
        value_ = value;
        ::unsetenv(name);
    }
    ~without_variable() {
        if (value_) ::setenv(name_, value_->c_str(), 1);
    }
    without_variable(const without_variable&) = delete;
    without_variable& operator=(const without_variable&) = delete;

private:
    const char* name_;
    std::optional<std::string> value_;
};

}  // namespace

int run_as_master(const options& o, master_beginning b) {
    // Nobody may read the lines any more; that is no reason to end.
    do_nothing_at(SIGPIPE);
    std::optional<noted_signals> noted;
    if (b.left) noted.emplace();
    // If it is ignored, the system keeps no exit status, and workers would have no reason.
    struct sigaction of_children {};
    if (::sigaction(SIGCHLD, nullptr, &of_children) == 0 && of_children.sa_handler == SIG_IGN) ::signal(SIGCHLD, SIG_DFL);
    std::optional<runtime> rt;
    {
        const without_variable as_asked("WEFT_WORKERS");
        rt.emplace(runtime_options{.workers = 1, .name = "prefork"});
    }
    // The main fiber keeps its worker, so that no other fiber runs during an exec.
    return rt->run({.preempt = false}, [&] { return master(o, std::move(b)).run(); });
}

int run_as_check(const options& o, int parent) try {
    unblock_signals_of_masters();
    auto gifts = process_gifts::take();
    const detail::owned_descriptor file(gifts.descriptor(handover_descriptor));
    const auto left = handover::read(file.get(), parent);
    weft::run(
        [&] {
            std::vector<open_port> given;
            for (std::size_t i = 0; i < left.ports.size(); ++i)
                given.push_back(
                    open_port::taken(left.ports[i].asked, gifts.descriptor(port_descriptor(i)), opened_by::supervisor));
            // A path that it makes must go before a signal ends it.
            std::optional<io::signals> ends_later;
            open_ports(o, given, [&] { ends_later.emplace({SIGTERM, SIGINT, SIGHUP}); });
        },
        {.workers = 1});
    gifts.say_ready();
    return 0;
} catch (const std::exception& e) {
    std::fprintf(stderr, "weft: prefork: %s\n", detail::printable(e.what()).c_str());
    return 1;
}

}  // namespace weft::prefork
