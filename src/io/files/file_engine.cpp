#include "io/files/file_engine.hpp"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>

#include "base/direct.hpp"
#include "base/panic.hpp"
#include "base/system_call.hpp"
#include "sched/monitor/preemption.hpp"
#include "sched/new_thread.hpp"

namespace weft::detail {

/// What the thread has while it runs.
class file_engine::loop {
public:
    loop(submissions& list, int wake) noexcept : list_(list), wake_(wake) {}

    /// \returns  0, or the negated error with which the system refuses the ring.
    long begin() noexcept {
        if (const long refused = ring_.open(depth, 4 * depth)) return refused;  // FILE_ENGINE-2
        watch_wake();
        // A filter may let the ring be made and refuse its use.
        return ring_.enter(0);
    }

    void run() noexcept {
        while (!is_over()) {
            take_in();
            fill();
            // FILE_ENGINE-1
            if (in_flight_ >= least_for_nap && std::exchange(has_moved_, false))
                check(ring_.enter_for(in_flight_ / 2, nap));
            else
                enter(!is_over() && list_.fall_asleep() ? 1 : 0);
            collect();
        }
    }

private:
    // No operation lies at these addresses (FILE_ENGINE-3).
    static constexpr std::uint64_t of_cancellation = 0, of_wake = 1;

    bool is_over() const noexcept { return ending_ && in_flight_ == 0 && waiting_.empty(); }

    void take_in() noexcept {
        for (auto* s = list_.take(); s;) {
            auto& entry = static_cast<file_entry&>(*s);
            s = s->link.get();  // read first: the entry may be gone afterwards
            has_moved_ = true;
            switch (entry.kind) {
                case file_entry_is::operation: take(static_cast<file_operation&>(entry)); break;
                case file_entry_is::cancellation: cancel(static_cast<file_operation::cancellation&>(entry).of); break;
                case file_entry_is::end: ending_ = true; break;
            }
        }
    }

    void take(file_operation& op) noexcept {
        op.at = file_operation::stage::waiting;
        waiting_.push_back(op);
    }

    void cancel(file_operation& op) noexcept {
        if (op.at == file_operation::stage::waiting) {
            waiting_.remove(op);
            op.end(-ECANCELED);
        } else if (op.at == file_operation::stage::in_flight) {
            auto& e = entry();
            e = {};
            e.opcode = IORING_OP_ASYNC_CANCEL;
            e.addr = reinterpret_cast<std::uintptr_t>(&op);
            e.user_data = of_cancellation;
            // Before the fiber may go on, and so before another operation has the address.
            enter(0);
        }
        op.let_go();
    }

    void fill() noexcept {
        while (in_flight_ < depth) {
            auto* const op = waiting_.pop_front();
            if (!op) return;
            op->at = file_operation::stage::in_flight;
            ++in_flight_;
            auto& e = entry();
            detail::fill(e, op->request);
            e.user_data = reinterpret_cast<std::uintptr_t>(op);
        }
    }

    io_uring_sqe& entry() noexcept {
        for (;;) {
            if (auto* const e = ring_.next()) return *e;
            enter(0);
        }
    }

    void watch_wake() noexcept {
        auto& e = entry();
        e = {};
        e.opcode = IORING_OP_POLL_ADD;
        e.fd = wake_;
        e.len = IORING_POLL_ADD_MULTI;
        e.poll32_events = POLLIN;
        e.user_data = of_wake;
    }

    void enter(unsigned least) noexcept { check(ring_.enter(least)); }

    static void check(long result) noexcept {
        // After a signal, and while the kernel has no memory or no room, another turn tries again.
        if (result == 0 || result == -ETIME || result == -EINTR || result == -EAGAIN || result == -EBUSY || result == -ENOMEM)
            return;
        // Fibers wait for what is in flight, and nobody else can tell when they may go on.
        panic("the system refuses io_uring_enter: ", std::strerror(static_cast<int>(-result)));
    }

    void collect() noexcept {
        while (const auto c = ring_.take()) {
            if (c->user_data == of_cancellation) continue;
            if (c->user_data == of_wake) {
                if (!(c->flags & IORING_CQE_F_MORE)) watch_wake();
                continue;
            }
            --in_flight_;
            has_moved_ = true;
            reinterpret_cast<file_operation*>(static_cast<std::uintptr_t>(c->user_data))->end(c->result);
        }
    }

    submissions& list_;
    const int wake_;
    ring ring_;
    intrusive_list<file_operation> waiting_;
    unsigned in_flight_ = 0;
    bool has_moved_ = false;  // since the last nap, something was submitted or has completed
    bool ending_ = false;
};

file_engine::~file_engine() {
    if (!thread_.joinable()) return;
    file_entry end(file_entry_is::end);
    static_cast<void>(give(end));
    thread_.join();
}

bool file_engine::submit(file_operation& op) noexcept {
    // relaxed: a caller that does not start the thread learns of it by the list (SUBMISSIONS-4)
    if (started_.load(relaxed) == started::no && started_.exchange(started::yes, relaxed) == started::no) start();
    return give(op);
}

void file_engine::start() noexcept {
    const long fd = system_result([] { return ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); });
    if (fd < 0) return refuse(fd);
    wake_.emplace(static_cast<int>(fd));
    try {
        thread_ = new_thread("weft: no thread for files", [this] { run(); });
    } catch (const std::system_error& e) {
        refuse(-e.code().value());
    } catch (const std::bad_alloc&) {
        refuse(-ENOMEM);
    }
}

void file_engine::run() noexcept {
    ::pthread_setname_np(::pthread_self(), "weft/files");
    set_usual_slice();
    loop l(list_, wake_->get());
    if (const long refused = l.begin()) return refuse(refused);
    l.run();
}

// FILE_ENGINE-5
void file_engine::refuse(long error) noexcept {
    static constinit atomic<bool> is_said{false};
    if (!is_said.exchange(true, relaxed))
        std::fprintf(stderr, "weft: no io_uring here (%s); files are read and written on threads of a pool\n",
                     std::strerror(static_cast<int>(-error)));
    for (auto* s = list_.close(); s;) {
        auto& entry = static_cast<file_entry&>(*s);
        s = s->link.get();
        switch (entry.kind) {
            case file_entry_is::operation: static_cast<file_operation&>(entry).refuse(); break;
            case file_entry_is::cancellation: static_cast<file_operation::cancellation&>(entry).of.let_go(); break;
            case file_entry_is::end: break;
        }
    }
}

void file_engine::cancel(file_operation::cancellation& wish) noexcept {
    if (!give(wish)) wish.of.let_go();
}

bool file_engine::give(file_entry& entry) noexcept {
    switch (list_.push(entry)) {
        case submissions::pushed::closed: return false;
        case submissions::pushed::wake: wake(); break;
        case submissions::pushed::added: break;
    }
    return true;
}

void file_engine::wake() const noexcept {
    const std::uint64_t one = 1;
    direct::write(wake_->get(), &one, sizeof one);
}

}  // namespace weft::detail
