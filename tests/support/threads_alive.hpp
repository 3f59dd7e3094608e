// threads_alive.hpp - how many OS threads the process has, for tests that none is left over.
#pragma once

namespace weft::test {

/// How many OS threads the process has. It does not list /proc/self/task: such a listing may leave
/// out a thread that lives while another one ends.
unsigned threads_alive();
/// How many it has besides those of tests. Counted while there is one more: a sanitizer then starts
/// a thread of its own.
unsigned threads_alive_at_first();

}  // namespace weft::test
