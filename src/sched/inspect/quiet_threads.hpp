// quiet_threads.hpp - the threads that do nothing unless a fiber or one of the others makes them: weft's own, and those that wait in weft
// without a limit of time. If there are no others, fibers that all wait for each other wait for ever.
#pragma once

namespace weft::detail {

/// The calling thread is one of them as long as this lives.
class quiet_thread {
public:
    quiet_thread() noexcept;
    ~quiet_thread();
    quiet_thread(const quiet_thread&) = delete;
    quiet_thread& operator=(const quiet_thread&) = delete;
};

/// Whether the process may have a thread that is not one of them; also if the system does not say.
bool others_may_act() noexcept;

}  // namespace weft::detail
