#include "sched/forked.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <new>

#include "base/fork.hpp"
#include "base/in_quotes.hpp"
#include "sched/identity/thread_identity.hpp"
#include "sched/scheduler.hpp"
#include "sched/wait/wait.hpp"

namespace weft::detail {
namespace {

// Stands in for the scope of the fiber that forked, since that scope waits in the parent. Both of
// its first functions are called below the body, by the loop that the child must not return to.
class end_of_child final : public end_observer {
public:
    constexpr ~end_of_child() = default;

    bool child_failed(control_block&, const std::exception_ptr& failure) noexcept override {
        try {
            std::rethrow_exception(failure);
        } catch (const std::exception& e) {
            std::fputs("weft: a fiber that has called fork() failed in the child: ", stderr);
            add_printable(e.what(), [](std::string_view piece) { std::fwrite(piece.data(), 1, piece.size(), stderr); });
            std::fputc('\n', stderr);
        } catch (...) {
            std::fprintf(stderr, "weft: a fiber that has called fork() was ended by an exception in the child\n");
        }
        ::_exit(EXIT_FAILURE);
    }
    void child_ended(control_block&, bool) noexcept override { ::_exit(EXIT_SUCCESS); }
    bool is_stopped() const noexcept override { return false; }
};

constinit end_of_child at_the_end;

void become_plain() noexcept {
    carrier* const c = this_carrier();
    if (!c) return;
    set_this_carrier(nullptr);
    control_block* const f = c->current();
    if (!f) return;
    f->parent = &at_the_end;
    // A joiner in the parent may have held the lock; neither it nor the waiters exist here.
    ::new (&f->lock) spin_lock;
    ::new (&f->cold().joiners) wait_list;
    if (f->is_any(rare_identity)) f->home->identity->become_thread_of_child();
    auto& mine = this_cell().slot;
    mine = f->cold().slot;
    for (auto* d = mine.deadlines; d; d = d->outer) d->list = &mine.deadlines;
}

}  // namespace

[[gnu::constructor(before_static_objects)]] void make_children_plain() noexcept {
    static const bool once = (follow_forks({.in_child = become_plain}), true);
    static_cast<void>(once);
}

}  // namespace weft::detail
