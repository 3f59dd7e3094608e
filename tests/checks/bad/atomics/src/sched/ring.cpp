#include "base/atomic.hpp"
#include <atomic>                                        // BAD
std::atomic<int> head;                                   // BAD
std::atomic_flag busy;                                   // BAD
auto seen(int& word) { return std::atomic_ref(word).load(); }          // BAD
void fence() { std::atomic_thread_fence(std::memory_order_seq_cst); }  // BAD
int loaded(int& word) { return __atomic_load_n(&word, 0); }            // BAD
int swapped(int& word) { return __sync_lock_test_and_set(&word, 1); }  // BAD
// std::atomic in a comment, /* std::atomic_thread_fence too */
auto text = "std::atomic"; auto raw = R"(
std::atomic<int> in_text;
)"; std::atomic<char> after;                             // BAD
int atomic_like = 1'000; char quote = '"';
std::atomic<char> again;                                 // BAD
