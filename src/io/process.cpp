// process.cpp - child processes: posix_spawn on another thread, pidfd or polling for the end.
#include <weft/io/process.hpp>

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <utility>

#include <weft/detail/annotated_locks.hpp>
#include <weft/fiber.hpp>
#include <weft/stop.hpp>

#include "base/atomic.hpp"
#include "base/direct.hpp"
#include "base/futex_lock.hpp"
#include "base/owned_descriptor.hpp"
#include "io/blocking_calls.hpp"
#include "io/operation.hpp"
#include "io/pipe.hpp"
#include "io/refused_here.hpp"
#include "io/reporting.hpp"

#if !defined(SYS_pidfd_open)
#define SYS_pidfd_open 434
#endif

namespace weft::detail {
namespace {

using io::exit_status;

/// 1: the child has ended. -EAGAIN: not yet.
long take_end_of(pid_t child, exit_status& status) noexcept {
    direct::child_change end;
    const long result = direct::waitid(child, WEXITED | WNOHANG, end);
    if (result < 0) return result;
    if (end.child == 0) return -EAGAIN;
    status = end.code == CLD_EXITED ? exit_status{.code = end.status} : exit_status{.signal = end.status};
    return 1;
}

/// False in a forked child, and if other code has taken the exit status: the id may then belong to
/// another process.
bool is_our_child(pid_t child) noexcept {
    direct::child_change unused;
    return direct::waitid(child, WEXITED | WNOHANG | WNOWAIT, unused) == 0;
}

}  // namespace

/// Whether and how a child has ended. Another thread may send it a signal while one waits for it.
///
/// In a forked child of this process the lock may be locked for good, by a thread that does not
/// exist there. So it is taken only for a child that is ours, which none is there.
class child_end {
public:
    bool is_known() const noexcept { return is_known_.load(acquire); }  // pairs with take()
    std::optional<exit_status> known() const noexcept { return is_known() ? std::optional(status_) : std::nullopt; }

    // 1: the child has ended, and known() says how. -EAGAIN: not yet.
    long take(pid_t child) noexcept WEFT_EXCLUDES(lock_) {
        if (!is_our_child(child)) return -ECHILD;
        const lock_guard guard(lock_);
        const long result = take_end_of(child, status_);
        if (result > 0) is_known_.store(true, release);  // pairs with is_known()
        return result;
    }
    // The id stays the child's until its exit status is taken. -ESRCH: it was.
    long send(pid_t child, int target, int number) noexcept WEFT_EXCLUDES(lock_) {
        if (is_known() || !is_our_child(child)) return -ESRCH;
        const lock_guard guard(lock_);
        if (is_known() || !is_our_child(child)) return -ESRCH;
        return system_result([&] { return ::kill(target, number); });
    }

private:
    // Held while the exit status is taken and while a signal is sent: once it was taken, the
    // system may give the id to an unrelated process.
    futex_lock lock_;
    atomic<bool> is_known_{false};
    exit_status status_;  // written once, before is_known_
};

}  // namespace weft::detail

namespace weft::io {
namespace {

constexpr detail::wait_kind process_wait{.name = "child process", .ends = detail::ended_by::outside};

using detail::failure;
using detail::owned_descriptor;
using detail::system_result;

[[noreturn]] void fail(long result, const char* what) { throw std::system_error(failure(result), what); }

enum class child_does : bool { read, write };

/// One standard stream: the child's end, and this process's end if it is a pipe.
struct standard_stream {
    owned_descriptor childs, ours;

    standard_stream(redirect how, child_does what) {
        if (how == redirect::discard) {
            const long fd =
                system_result([&] { return ::open("/dev/null", (what == child_does::read ? O_RDONLY : O_WRONLY) | O_CLOEXEC); });
            if (fd < 0) fail(fd, "weft: /dev/null");
            childs = owned_descriptor(static_cast<int>(fd));
        } else if (how == redirect::pipe) {
            const auto ends = detail::new_pipe();
            owned_descriptor reader(ends[0]), writer(ends[1]);
            childs = std::move(what == child_does::read ? reader : writer);
            ours = std::move(what == child_does::read ? writer : reader);
            detail::direct::fcntl(childs.get(), F_SETFL);  // programs do not expect non-blocking streams
        }
    }
};

/// The actions that posix_spawn performs in the child.
class child_steps {
public:
    child_steps() {
        if (const int error = ::posix_spawn_file_actions_init(&steps_)) fail(-error, "weft: posix_spawn");
    }
    ~child_steps() { ::posix_spawn_file_actions_destroy(&steps_); }
    child_steps(const child_steps&) = delete;
    child_steps& operator=(const child_steps&) = delete;

    void connect(const owned_descriptor& end, int number) {
        if (end.get() < 0) return;
        if (const int error = ::posix_spawn_file_actions_adddup2(&steps_, end.get(), number)) fail(-error, "weft: posix_spawn");
    }
    void start_in(const std::string& directory) {
        if (directory.empty()) return;
        if (const int error = ::posix_spawn_file_actions_addchdir_np(&steps_, directory.c_str()))
            fail(-error, "weft: posix_spawn");
    }
    const posix_spawn_file_actions_t* get() const noexcept { return &steps_; }

private:
    posix_spawn_file_actions_t steps_{};
};

// The child's first descriptor beyond the standard streams.
constexpr int first_given = 3;

/// Duplicates, none of them under a number that the child gives to another one. If it made its
/// copies from the originals, the first copies could overwrite those still to be copied.
std::vector<owned_descriptor> out_of_the_way(const std::vector<int>& given) {
    std::vector<owned_descriptor> all;
    const int above = first_given + static_cast<int>(given.size());
    for (const int fd : given) {
        const long copy = detail::direct::fcntl(fd, F_DUPFD_CLOEXEC, above);
        if (copy < 0) fail(copy, "weft: descriptor for a child process");
        all.emplace_back(static_cast<int>(copy));
    }
    return all;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
    std::vector<char*> all;
    for (auto& w : words) all.push_back(w.data());
    all.push_back(nullptr);
    return all;
}

/// The attributes of posix_spawn.
class child_attributes {
public:
    explicit child_attributes(process_group group) {
        if (const int error = ::posix_spawnattr_init(&attributes_)) fail(-error, "weft: posix_spawn");
        const short flags = group == process_group::own       ? POSIX_SPAWN_SETPGROUP
                            : group == process_group::session ? POSIX_SPAWN_SETSID
                                                              : 0;
        ::posix_spawnattr_setpgroup(&attributes_, 0);  // 0: the child's own process id
        ::posix_spawnattr_setflags(&attributes_, flags);
    }
    ~child_attributes() { ::posix_spawnattr_destroy(&attributes_); }
    child_attributes(const child_attributes&) = delete;
    child_attributes& operator=(const child_attributes&) = delete;

    const posix_spawnattr_t* get() const noexcept { return &attributes_; }

private:
    posix_spawnattr_t attributes_{};
};

/// The errno with which a process cannot start in that directory; 0 if it can.
int trouble_with(const std::string& directory) noexcept {
    struct stat is {};
    if (::stat(directory.c_str(), &is) != 0) return errno;
    if (!S_ISDIR(is.st_mode)) return ENOTDIR;
    return ::access(directory.c_str(), X_OK) == 0 ? 0 : errno;
}

// posix_spawn reports one errno for everything the child does before the program begins.
[[noreturn]] void fail_to_start(int error, const std::string& program, const std::string& directory) {
    const std::string what = "weft: cannot start " + program;
    if (const int trouble = directory.empty() ? 0 : trouble_with(directory))
        fail(-trouble, (what + ": working directory " + directory).c_str());
    fail(-error, what.c_str());
}

/// Runs on another thread, since it takes as long as the system needs to load the program.
pid_t spawn(std::vector<std::string> words, const process_options& o, const child_steps& steps) {
    if (words.empty()) fail(-EINVAL, "weft: a process needs the name of a program");
    const auto argv = pointers_to(words);
    auto environment = o.environment;
    const auto own = environment ? pointers_to(*environment) : std::vector<char*>();
    const child_attributes attributes(o.group);
    detail::check_interrupt();
    // Otherwise a child could run whose id is lost.
    const shield until_it_is_known;
    return detail::blocking_in(detail::pool_for::starts, [&] {
        pid_t child = 0;
        const int error =
            ::posix_spawnp(&child, argv[0], steps.get(), attributes.get(), argv.data(), environment ? own.data() : environ);
        if (error != 0) fail_to_start(error, words[0], o.directory);
        return child;
    });
}

/// Empty if the kernel has no pidfd_open (before 5.3), or a filter forbids it.
detail::io_handle pidfd_of(pid_t child) {
    const long fd = system_result([&] { return ::syscall(SYS_pidfd_open, child, 0); });
    if (fd < 0) return {};
    detail::direct::fcntl(static_cast<int>(fd), F_SETFL, O_NONBLOCK);
    return detail::own_descriptor(static_cast<int>(fd));
}

}  // namespace

process::process(std::vector<std::string> words, process_options o) {
    detail::refuse_here("weft: process");
    end_ = std::make_unique<detail::child_end>();
    const auto given = out_of_the_way(o.descriptors);
    standard_stream in(o.in, child_does::read), out(o.out, child_does::write), err(o.err, child_does::write);
    child_steps steps;
    steps.start_in(o.directory);
    steps.connect(in.childs, STDIN_FILENO);
    steps.connect(out.childs, STDOUT_FILENO);
    steps.connect(err.childs, STDERR_FILENO);
    // After the standard streams, whose pipes may have these numbers.
    for (std::size_t i = 0; i < given.size(); ++i) steps.connect(given[i], first_given + static_cast<int>(i));
    if (in.ours.get() >= 0) in_ = pipe_writer(detail::own_descriptor(in.ours.release()));
    if (out.ours.get() >= 0) out_ = pipe_reader(detail::own_descriptor(out.ours.release()));
    if (err.ours.get() >= 0) err_ = pipe_reader(detail::own_descriptor(err.ours.release()));
    id_ = spawn(std::move(words), o, steps);
    has_own_group_ = o.group != process_group::inherit;
    watch_end();
}

process process::adopt(int id, int out, int err) {
    owned_descriptor to_out(out), to_err(err);
    process p;
    p.end_ = std::make_unique<detail::child_end>();
    if (out >= 0) p.out_ = pipe_reader(detail::own_descriptor(to_out.release()));
    if (err >= 0) p.err_ = pipe_reader(detail::own_descriptor(to_err.release()));
    p.id_ = id;
    p.watch_end();
    return p;
}

void process::watch_end() noexcept try {
    ending_ = pidfd_of(id_);
} catch (const std::bad_alloc&) {  // wait() then works without a pidfd
}

process::process(std::vector<std::string> words, process_options o, std::error_code& error)
    : process(detail::reporting(error, [&] { return process(std::move(words), std::move(o)); })) {}

process::process() noexcept = default;
process::process(process&& other) noexcept { *this = std::move(other); }

process& process::operator=(process&& other) noexcept {
    if (this == &other) return *this;
    end_now();
    id_ = std::exchange(other.id_, 0);
    has_own_group_ = other.has_own_group_;
    end_ = std::move(other.end_);
    ending_ = std::move(other.ending_);
    in_ = std::move(other.in_);
    out_ = std::move(other.out_);
    err_ = std::move(other.err_);
    return *this;
}

process::~process() { end_now(); }

void process::end_now() noexcept {
    if (!joinable() || !detail::is_our_child(id_)) return;
    const shield whatever_happens;
    // The group keeps its id until the child's exit status is taken.
    ::kill(has_own_group_ ? -id_ : id_, SIGKILL);
    std::error_code ignored;
    wait(ignored);
}

bool process::joinable() const noexcept { return id_ > 0 && !known_end(); }
std::optional<exit_status> process::known_end() const noexcept { return end_ ? end_->known() : std::nullopt; }
long process::take_end() noexcept { return end_->take(id_); }
long process::send(int target, int number) noexcept { return id_ > 0 ? end_->send(id_, target, number) : -ESRCH; }

// The wait for a child without a pidfd.
std::error_code process::look_until_ended() {
    using namespace std::chrono_literals;
    // chosen: looking every 20 ms costs 0.1 % of a core
    for (auto nap = std::chrono::milliseconds(1);; nap = std::min(2 * nap, std::chrono::milliseconds(20))) {
        if (const auto interrupt = detail::pending_interrupt()) return detail::interrupt_error(*interrupt);
        const long result = take_end();
        if (result != -EAGAIN) return result < 0 ? failure(result) : std::error_code();
        try {
            this_fiber::sleep_for(nap);
        } catch (const cancelled&) {
            return detail::interrupt_error(detail::interrupt_reason());
        }
    }
}

exit_status process::wait(std::error_code& error) {
    error.clear();
    if (const auto known = known_end()) return *known;
    if (id_ <= 0) {
        error = std::make_error_code(std::errc::no_child_process);
    } else if (ending_) {
        error = detail::perform(ending_.get(), detail::io_direction::read, process_wait, [&](int) { return take_end(); }).error;
    } else {
        error = look_until_ended();
    }
    if (error) return {};
    ending_ = {};
    return *known_end();
}

exit_status process::wait() {
    std::error_code error;
    const auto status = wait(error);
    if (error) detail::throw_io_error(error, "weft: wait for a child process");
    return status;
}

std::optional<exit_status> process::try_wait() {
    if (const auto known = known_end(); known || id_ <= 0) return known;
    const long result = take_end();
    if (result == -EAGAIN) return std::nullopt;
    if (result < 0) fail(result, "weft: look after a child process");
    ending_ = {};
    return known_end();
}

void process::signal(int number) {
    const long result = send(id_, number);
    if (result == -ESRCH) fail(result, "weft: signal to a child process that has ended");
    if (result < 0) fail(result, "weft: signal to a child process");
}

void process::signal_group(int number) {
    const long result = has_own_group_ ? send(-id_, number) : joinable() ? -EPERM : -ESRCH;
    if (result == -ESRCH) fail(result, "weft: signal to the group of a child process that has ended");
    if (!has_own_group_)
        fail(result, "weft: signal to the group of a child process that has none of its own (process_options::group)");
    if (result < 0) fail(result, "weft: signal to the group of a child process");
}

std::optional<exit_status> process::try_wait(std::error_code& error) {
    return detail::reporting(error, [&] { return try_wait(); });
}
void process::signal(int number, std::error_code& error) {
    detail::reporting(error, [&] { signal(number); });
}
void process::signal_group(int number, std::error_code& error) {
    detail::reporting(error, [&] { signal_group(number); });
}

void process::detach() noexcept {
    id_ = 0;
    ending_ = {};
}

}  // namespace weft::io
