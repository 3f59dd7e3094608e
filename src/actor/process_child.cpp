// process_child.cpp - the life of a process under its supervisor: how it starts, gets ready, is stopped and ends.
//
// One file, since each step depends on the phase that the one before has left; the table is in the header.
#include "actor/process_child.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstring>

#include <weft/blocking.hpp>
#include <weft/scope.hpp>
#include <weft/stop.hpp>

#include "base/direct.hpp"
#include "fiber/hook.hpp"
#include "io/pipe.hpp"
#include "sched/scheduler.hpp"
#include "spawn/admission.hpp"

namespace weft::detail {
namespace {

constexpr std::size_t longest_line = 65536;  // chosen: a pipe holds as much
// chosen: what a process has written is in the pipe when it has ended; only its own children could
// write more, and they are not waited for
constexpr std::chrono::seconds for_the_rest{1};
constexpr std::chrono::seconds longest_pause{5};  // chosen: what was mended outside is noticed soon
// chosen: a life that fails sooner than this after it got ready has served nobody
constexpr std::chrono::seconds short_life{1};

bool is_name(std::string_view text) noexcept {
    constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    return !text.empty() && text.find_first_not_of(allowed) == std::string_view::npos;
}

process_spec checked(process_spec s) {
    for (const auto& d : s.descriptors) {
        if (!is_name(d.name))
            throw std::invalid_argument("weft: start_process: the descriptor's name \"" + d.name +
                                        "\" must be of letters, digits, '-', '_' and '.'");
        if (d.descriptor < 0) throw std::invalid_argument("weft: start_process: descriptor \"" + d.name + "\" is not open");
    }
    if (s.ready_within < std::chrono::nanoseconds::zero())
        throw std::invalid_argument("weft: start_process: ready_within is negative; zero means that it need not say so");
    if (s.pause < std::chrono::nanoseconds::zero())
        throw std::invalid_argument("weft: start_process: pause is negative; zero means none");
    if (s.words.empty()) s.words.emplace_back();
    if (s.words[0].empty()) s.words[0] = own_program();
    return s;
}

std::string_view name_of(std::string_view assignment) noexcept { return assignment.substr(0, assignment.find('=')); }

void set(std::vector<std::string>& environment, std::string assignment) {
    std::erase_if(environment, [&](const std::string& e) { return name_of(e) == name_of(assignment); });
    environment.push_back(std::move(assignment));
}

std::string text_of(std::chrono::nanoseconds d) {
    return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(d).count()) + " ms";
}

}  // namespace

std::string own_program() {
    std::array<char, 4096> path;
    const auto n = ::readlink("/proc/self/exe", path.data(), path.size());
    std::string text(path.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
    // A program that was replaced has the path of its successor, with this mark.
    constexpr std::string_view mark = " (deleted)";
    if (text.ends_with(mark) && ::access(text.c_str(), X_OK) != 0) text.resize(text.size() - mark.size());
    return text.empty() ? "/proc/self/exe" : text;
}

process_child::process_child(std::shared_ptr<supervisor_core> s, const child_attributes& a, process_spec spec,
                             running_process first)
    : child(std::move(s), a), spec_(checked(std::move(spec))), first_(std::move(first)) {}

void process_child::start(scheduler& where) {
    {
        const std::lock_guard lock(mutex_);
        now_ = life::starting;
        asked_ = end_by::nothing;
        has_ended_ = was_late_ = was_ready_ = false;
    }
    const std::string title = "process " + name;
    start_fiber<start_as::detached>(where, never_inline(where, {.name = title, .site = {}}),
                                    [self = shared_from_this(), this, &where] { live(where); });
}

void process_child::end(exit_reason) noexcept {
    const std::lock_guard lock(mutex_);
    now_ = life::over;
    changed_.notify_all();
}

void process_child::ask_to(end_by how) noexcept {
    const std::lock_guard lock(mutex_);
    asked_ = std::max(asked_, how);
    changed_.notify_all();
}

void process_child::live(scheduler& where) noexcept {
    const shield through_stops;  // PROCESS_CHILD-1
    exit_reason why;
    try {
        why = run(where);
    } catch (...) {
        why = {.kind = exit_kind::failed, .failure = std::current_exception()};
    }
    {
        const std::lock_guard lock(mutex_);
        const bool was_of_use = was_ready_ && (!why.abnormal() || clock::now() - ready_since_ >= short_life);
        pause_ = was_of_use                                   ? std::chrono::nanoseconds::zero()
                 : pause_ == std::chrono::nanoseconds::zero() ? spec_.pause
                                                              : std::min<std::chrono::nanoseconds>(pause_ * 2, longest_pause);
        if (now_ != life::over) now_ = life::down;
    }
    owner->child_ended(*this, std::move(why));
}

/// \returns false if the child was asked to end meanwhile
bool process_child::await_turn() {
    std::unique_lock lock(mutex_);
    return !changed_.wait_until(lock, deadline_after(pause_), [&] { return asked_ != end_by::nothing || now_ == life::over; });
}

/// PROCESS_CHILD-4
running_process process_child::take_turn() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !is_held_; });
    is_being_started_ = true;
    return std::exchange(first_, {});
}

exit_reason process_child::run(scheduler& where) {
    if (pause_ > std::chrono::nanoseconds::zero() && !await_turn()) return {.kind = exit_kind::stopped};
    const struct turn {
        process_child& self;
        ~turn() {
            const std::lock_guard lock(self.mutex_);
            self.is_being_started_ = false;
        }
    } until_the_end{*this};
    const auto first = take_turn();
    if (first.id == 0) return run_new(where);
    auto p = io::process::adopt(first.id, first.out, first.err);
    io::exit_status status;
    run_with(p, first.word >= 0 ? io::pipe_reader(own_descriptor(first.word)) : io::pipe_reader(), first, status, where);
    return reason_of(status);
}

exit_reason process_child::run_new(scheduler& where) {
    const bool says_ready = spec_.ready_within > std::chrono::nanoseconds::zero();
    const auto out = spec_.output == process_output::lines ? io::redirect::pipe : io::redirect::inherit;
    std::vector<int> given;
    for (const auto& d : spec_.descriptors) given.push_back(d.descriptor);
    std::optional<io::pipe> word;
    if (says_ready) given.push_back(word.emplace().writer.native_handle());
    io::process p(spec_.words, {.out = out,
                                .err = out,
                                .directory = spec_.directory,
                                .environment = environment(says_ready),
                                .group = spec_.group,
                                .descriptors = std::move(given)});
    if (word) word->writer.close();
    io::exit_status status;
    run_with(p, word ? std::move(word->reader) : io::pipe_reader(), {}, status, where);
    return reason_of(status);
}

void process_child::run_with(io::process& p, io::pipe_reader ready, const running_process& first, io::exit_status& status,
                             scheduler& where) {
    const auto how = never_inline(where, {.name = name, .site = {}});
    const auto at_end = [&] {
        note_end();
        ready.close();
    };
    reader out{p.out()}, err{p.err(), stream::err};
    out.rest = first.rest_of_out;
    err.rest = first.rest_of_err;
    with_scope([&](scope& fibers) {
        {
            const std::lock_guard lock(mutex_);
            process_ = &p;
            word_ = &ready;
            out_ = &out;
            err_ = &err;
            is_being_started_ = false;
            if (!ready.is_open()) note_ready();
            changed_.notify_all();
        }
        try {
            fibers.spawn(how, [&] { end_in_time(p); });
            weft::child<> word;
            if (ready.is_open()) word = fibers.spawn(how, [&] { await_word(ready); });
            for (auto* const r : {&out, &err})
                if (r->from.is_open()) r->fiber = fibers.spawn(how, [this, r] { collect(*r); });
            status = p.wait();
            if (word.joinable()) take_last_word(ready, word);
        } catch (...) {
            at_end();
            p.out().close();
            p.err().close();
            throw;
        }
        at_end();
        for (auto* const r : {&out, &err}) {
            if (r->fiber.joinable()) await_rest(*r);
            r->from.close();
        }
    });
}

/// Ends the process when it is asked to, or is not ready in time.
void process_child::end_in_time(io::process& p) {
    const shield through_stops;  // PROCESS_CHILD-1
    std::unique_lock lock(mutex_);
    const auto is_asked = [&] { return has_ended_ || asked_ != end_by::nothing; };
    if (now_ == life::starting) {
        const auto until = deadline_after(spec_.ready_within);
        was_late_ = !changed_.wait_until(lock, until, [&] { return is_asked() || now_ != life::starting; });
    }
    if (!was_late_) changed_.wait(lock, is_asked);
    if (!was_late_ && !has_ended_ && asked_ == end_by::term) {
        end_by_signal(p, SIGTERM);
        changed_.wait_until(lock, deadline_after(shutdown), [&] { return has_ended_ || asked_ == end_by::kill; });
    }
    if (!has_ended_) end_by_signal(p, SIGKILL);
}

void process_child::end_by_signal(io::process& p, int number) const noexcept {
    std::error_code ignored;  // it has ended
    if (number == SIGKILL && spec_.group != io::process_group::inherit)
        p.signal_group(number, ignored);
    else
        p.signal(number, ignored);
}

void process_child::await_word(io::pipe_reader& from) {
    const shield through_stops;  // PROCESS_CHILD-1
    std::array<std::byte, 1> word;
    std::error_code ignored;  // closed, when the process has ended
    if (from.read_some(word, ignored) == 0) return;
    const std::lock_guard lock(mutex_);
    if (now_ == life::starting) note_ready();
    changed_.notify_all();
}

/// Called under the mutex.
void process_child::note_ready() noexcept {
    now_ = life::ready;
    was_ready_ = has_been_ready_ = true;
    ready_since_ = clock::now();
}

/// A process may have said that it is ready just before it has ended. Its word is in the pipe then,
/// or the end of the pipe; unless a process that it has started holds the pipe open.
void process_child::take_last_word(const io::pipe_reader& from, weft::child<>& reader) {
    struct pollfd state {
        .fd = from.native_handle(), .events = POLLIN, .revents = 0
    };
    if (!reader.done() && direct::poll(&state, 1, {}) > 0) reader.join_until(deadline_after(for_the_rest));
}

/// Waits until the output has ended, or for_the_rest has passed in which the reader has waited for
/// it. The time of on_line does not count.
void process_child::await_rest(reader& r) {
    for (auto until = deadline_after(for_the_rest); !r.fiber.join_until(until);) {
        const auto since = time_point(time_point::duration(r.waits_since.load(relaxed)));  // relaxed: nothing else is read
        if (since == time_point()) {
            until = deadline_after(for_the_rest);
            continue;
        }
        if (clock::now() - since >= for_the_rest) return;
        until = since + for_the_rest;
    }
}

void process_child::collect(reader& r) {
    const shield through_stops;  // PROCESS_CHILD-1
    std::string line = r.rest;  // nobody else writes it
    bool was_cut = false;
    std::array<std::byte, 4096> piece;
    std::error_code error;  // closed, when the process has ended but not those that it has started
    const auto read = [&] {
        r.waits_since.store(clock::now().time_since_epoch().count(), relaxed);  // relaxed: nothing else is read
        const auto n = r.from.read_some(piece, error);
        r.waits_since.store(0, relaxed);
        return n;
    };
    while (const std::size_t n = read()) {
        std::string_view rest(reinterpret_cast<const char*>(piece.data()), n);
        while (!rest.empty()) {
            const auto end = rest.find('\n');
            const auto part = std::min({rest.size(), end, longest_line - line.size()});
            const bool is_whole = part == end;
            line += rest.substr(0, part);
            rest.remove_prefix(part + (is_whole ? 1 : 0));
            // The end of a line that was passed on in pieces is no empty line.
            if ((is_whole && !(line.empty() && was_cut)) || line.size() == longest_line) pass_on(r.which, line);
            was_cut = !is_whole && line.size() == longest_line;
            if (is_whole || was_cut) line.clear();
        }
        if (line == r.rest) continue;
        const std::lock_guard lock(mutex_);
        r.rest = line;
    }
    if (!line.empty()) pass_on(r.which, line);
}

void process_child::pass_on(stream which, std::string_view text) const noexcept {
    const bool is_error = which == stream::err;
    call_hook("on_line", [&] {
        if (spec_.on_line) return spec_.on_line({.child = name, .is_error = is_error, .text = text});
        std::string line = name + ": ";
        (line += text) += '\n';
        auto* const to = is_error ? stderr : stdout;
        blocking([&] {
            std::fwrite(line.data(), 1, line.size(), to);
            std::fflush(to);
        });
    });
}

/// After this nobody sends the process a signal.
void process_child::note_end() noexcept {
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
    process_ = nullptr;
    word_ = nullptr;
    out_ = err_ = nullptr;
    changed_.notify_all();
}

/// Rule 3 of child_process.hpp.
exit_reason process_child::reason_of(const io::exit_status& status) noexcept {
    const std::lock_guard lock(mutex_);
    const auto because = [&](exit_kind kind, const std::string& what) {
        return exit_reason{.kind = kind, .failure = std::make_exception_ptr(process_failed(what, status))};
    };
    if (was_late_) return because(exit_kind::failed, "was not ready within " + text_of(spec_.ready_within));
    if (asked_ == end_by::term && (status.success() || status.signal == SIGTERM)) return {.kind = exit_kind::stopped};
    if (status.signal != 0)
        return because(exit_kind::killed, "signal " + std::to_string(status.signal) + " (" + ::strsignal(status.signal) + ")");
    if (status.code == 0) return {.kind = exit_kind::normal};
    return because(exit_kind::failed, "exit code " + std::to_string(status.code));
}

std::vector<std::string> process_child::environment(bool with_ready) const {
    std::vector<std::string> all;
    for (char** e = environ; *e; ++e)
        if (const auto own = name_of(*e); own != "WEFT_LISTEN" && own != "WEFT_READY") all.emplace_back(*e);
    for (const auto& e : spec_.environment) set(all, e);
    std::string listen;
    int number = 3;  // the first that io::process gives
    for (const auto& d : spec_.descriptors) listen += (listen.empty() ? "" : " ") + d.name + '=' + std::to_string(number++);
    if (!listen.empty()) set(all, "WEFT_LISTEN=" + listen);
    if (with_ready) set(all, "WEFT_READY=" + std::to_string(number));
    return all;
}

bool process_child::signal(int number) noexcept {
    const std::lock_guard lock(mutex_);
    if (!process_) return false;
    std::error_code error;
    process_->signal(number, error);
    return !error;
}

std::optional<running_process> process_child::hold() {
    const std::lock_guard lock(mutex_);
    is_held_ = true;
    if (is_being_started_ || first_.id != 0) return std::nullopt;
    if (!process_) return running_process();
    return running_process{.id = process_->id(),
                           .out = out_->from.native_handle(),
                           .err = err_->from.native_handle(),
                           .word = now_ == life::starting ? word_->native_handle() : -1,
                           .rest_of_out = out_->rest,
                           .rest_of_err = err_->rest};
}

void process_child::release() noexcept {
    const std::lock_guard lock(mutex_);
    is_held_ = false;
    changed_.notify_all();
}

bool process_child::wait_until_ready() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return has_been_ready_ || now_ == life::over; });
    return has_been_ready_;
}

int process_child::id() noexcept {
    const std::lock_guard lock(mutex_);
    return process_ ? process_->id() : 0;
}

bool process_child::was_ready() noexcept {
    const std::lock_guard lock(mutex_);
    return was_ready_;
}

bool process_child::is_ready() noexcept {
    const std::lock_guard lock(mutex_);
    return now_ == life::ready;
}

}  // namespace weft::detail
