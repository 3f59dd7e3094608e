#include "base/atomic.hpp"
int get() { return word.load(relaxed); }
int look() { return word.load(acquire); }                          // BAD: no partner
void put() { word.store(1, release); }                             // pairs with look()
// pairs with look()
void put_two() { word.store(2, release); }
// The comment of several lines: it pairs
// with put() and put_two().
int look_again() { return word.load(acquire); }

void far() { word.store(3, release); }                             // BAD: the comment below is another function's
// pairs with look()
int first() { return 1; }
int second() { return word.exchange(4, acq_rel); }                 // BAD: a line stands between
bool changed(int& seen) {
    return word.compare_exchange_strong(seen, 5, seq_cst, relaxed);  // BAD: only a word, "seq_cst"
}
void fence_alone() { fence(detail::seq_cst); }                     // BAD
int third() { return word.exchange(6, acq_rel); }                  // ordered as in put_two()
void give(semaphore& s) { s.release(); }
