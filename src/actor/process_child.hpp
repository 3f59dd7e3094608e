// process_child.hpp - a process as the child of a supervisor.
//
//  phase     meaning                                     leaves by
//  down      there is no process; to be started          start -> starting
//  starting  it pauses, or there is a process soon, or it is not ready
//                                                        ready, or no need to say so -> ready | the end -> down
//  ready     it runs and has said that it is ready       the end -> down
//  over      final: the child does not live again        -
//
// A life has a fiber, which starts the process, waits for its end and tells the supervisor, and
// children of that fiber: one that ends the process when asked to or when it is late, one that
// waits for its word that it is ready, and one for each stream that is collected.
//
// Invariants
//   PROCESS_CHILD-1  All fibers of a life are shielded. When the runtime stops, the supervisor's
//                    own fiber notices and ends its children, so the processes are still ended in
//                    order.
//   PROCESS_CHILD-2  `asked_` belongs to one life: start() forgets it. Within a life it only rises,
//                    and a process gets one SIGTERM, because a second one may mean "at once" to it.
//   PROCESS_CHILD-3  `process_` is set while the process can be sent a signal: it points to an
//                    object on the life's stack, and is used and cleared under the mutex. The
//                    same holds for `word_`, `out_` and `err_`.
//   PROCESS_CHILD-4  While `is_held_` no process is started. hold() returns nothing while one is
//                    being started, and so a caller who has got something knows all processes.
#pragma once

#include <optional>
#include <string>

#include <weft/child_process.hpp>
#include <weft/condition_variable.hpp>
#include <weft/mutex.hpp>
#include <weft/scope.hpp>

#include "actor/supervisor_core.hpp"
#include "base/atomic.hpp"

namespace weft::detail {

/// The process of a life, for a program that takes the place of this one by exec. -1: none.
struct running_process {
    int id = 0;  // 0: there is none
    int out = -1, err = -1;  // the read ends of its pipes
    int word = -1;  // the read end of the pipe for its word that it is ready, which has not come yet
    std::string rest_of_out = {}, rest_of_err = {};  // the beginnings of lines that have not ended yet
};

/// Starts a child whose first life is `first`, if that is a process.
WEFT_EXPORT child_process start_process_with(const actor_ref<supervisor>&, const child_attributes&, process_spec,
                                             running_process first);

/// The path of the program of this process, without links.
WEFT_EXPORT std::string own_program();

class process_child final : public child {
public:
    process_child(std::shared_ptr<supervisor_core> s, const child_attributes&, process_spec, running_process first);

    void start(scheduler&) override;
    // A process cannot be told to take nothing new and finish: SIGTERM means that.
    void close() noexcept override { ask_to(end_by::term); }
    void stop() noexcept override { ask_to(end_by::term); }
    void kill() noexcept override { ask_to(end_by::kill); }
    void end(exit_reason) noexcept override;
    bool is(const void* core) const noexcept override { return core == this; }

    bool signal(int number) noexcept;
    bool wait_until_ready();
    int id() noexcept;
    bool is_ready() noexcept;
    /// Whether its latest life was ready, at its end or before.
    bool was_ready() noexcept;

    /// Lets no process be started until release(). \returns nothing while one is being started
    WEFT_EXPORT std::optional<running_process> hold();
    WEFT_EXPORT void release() noexcept;

private:
    enum class life : std::uint8_t { down, starting, ready, over };
    enum class end_by : std::uint8_t { nothing, term, kill };
    enum class stream : std::uint8_t { out, err };

    /// What collects a stream of a life.
    struct reader {
        io::pipe_reader& from;
        stream which = stream::out;
        atomic<time_point::rep> waits_since{0};  // for the process to write; 0: it does not
        weft::child<> fiber = {};
        std::string rest = {};  // the beginning of a line that has not ended yet; under the mutex
    };

    void ask_to(end_by) noexcept;
    void live(scheduler&) noexcept;
    bool await_turn();
    running_process take_turn();
    exit_reason run(scheduler&);
    exit_reason run_new(scheduler&);
    void run_with(io::process&, io::pipe_reader ready, const running_process&, io::exit_status&, scheduler&);
    void end_in_time(io::process&);
    void end_by_signal(io::process&, int number) const noexcept;
    void await_word(io::pipe_reader& from);
    void note_ready() noexcept;
    static void take_last_word(const io::pipe_reader& from, weft::child<>& reader);
    static void await_rest(reader&);
    void collect(reader&);
    void pass_on(stream, std::string_view text) const noexcept;
    void note_end() noexcept;
    exit_reason reason_of(const io::exit_status&) noexcept;
    std::vector<std::string> environment(bool with_ready) const;

    const process_spec spec_;
    weft::mutex mutex_;
    weft::condition_variable changed_;
    life now_ = life::down;
    end_by asked_ = end_by::nothing;  // PROCESS_CHILD-2
    bool has_ended_ = false;  // the process of this life
    bool was_late_ = false;
    bool was_ready_ = false;  // in this life
    bool has_been_ready_ = false;  // in some life
    time_point ready_since_;  // if was_ready_
    std::chrono::nanoseconds pause_{0};  // before the next life
    io::process* process_ = nullptr;  // PROCESS_CHILD-3
    const io::pipe_reader* word_ = nullptr;
    const reader *out_ = nullptr, *err_ = nullptr;
    running_process first_;  // until the first life begins
    bool is_held_ = false, is_being_started_ = false;  // PROCESS_CHILD-4
};

}  // namespace weft::detail
