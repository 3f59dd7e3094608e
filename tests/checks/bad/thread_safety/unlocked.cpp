// unlocked.cpp - uses of guarded data without its lock, which clang's -Wthread-safety must report; it must find nothing
// in the public templates, which are instantiated here because a user's program compiles them.
#include <weft/broadcast.hpp>
#include <weft/cell.hpp>
#include <weft/detail/annotated_locks.hpp>
#include <weft/mutex.hpp>
#include <weft/pool.hpp>

#include "base/spin_lock.hpp"
#include "base/state_lock.hpp"

template class weft::broadcast<int>;
template class weft::cell<int>;
template class weft::pool<int>;

struct account {
    int read() { return first_; }  // BAD
    void write() { second_ = 1; }  // BAD
    void call() { add(1); }  // BAD
    void keep() {
        third_lock_.lock();
        add(1);
    }  // BAD: keeps the lock
    void use() {
        const weft::detail::lock_guard guard(third_lock_);
        first_ = second_;  // BAD: holds another lock
    }

private:
    void add(int cents) WEFT_REQUIRES(third_lock_) { third_ += cents; }

    weft::mutex first_lock_;
    int first_ WEFT_GUARDED_BY(first_lock_) = 0;
    weft::detail::spin_lock second_lock_;
    int second_ WEFT_GUARDED_BY(second_lock_) = 0;
    weft::detail::state_lock third_lock_;
    int third_ WEFT_GUARDED_BY(third_lock_) = 0;
};

int main() {
    account a;
    a.write();
    a.call();
    a.keep();
    a.use();
    return a.read();
}
