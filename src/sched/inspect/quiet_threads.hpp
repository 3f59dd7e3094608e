// quiet_threads.hpp - counts the threads that cannot start anything by themselves.
//
// Such a thread acts only if a fiber or another such thread makes it: weft's own threads, and those
// that wait in weft without a deadline. If the process has no other threads, fibers that all wait
// for each other wait for ever.
#pragma once

namespace weft::detail {

/// Counts the calling thread as quiet while this object lives.
class quiet_thread {
public:
    quiet_thread() noexcept;
    ~quiet_thread();
    quiet_thread(const quiet_thread&) = delete;
    quiet_thread& operator=(const quiet_thread&) = delete;
};

/// Whether the process may have a thread that is not quiet; true also if the system does not say.
bool others_may_act() noexcept;

}  // namespace weft::detail
