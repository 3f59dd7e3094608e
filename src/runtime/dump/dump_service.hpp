// dump_service.hpp - dumps for who asks from outside: by a signal, if one was chosen, on stderr, and by `weft dump PID`, there.
//
// One thread for the process, while any runtime wants it. The signal's handler does nothing but to wake it, so that the signal may come
// at any instant, and a dump is made even if every worker hangs.
//
// Invariants
//   V1  One signal for the process, or none as long as no user has chosen one. Its handler stands, and the thread runs, while there is a
//       user; both end with the last one.
//   V2  The handler finds the descriptor that wakes the thread in an atomic; -1: nobody is there, and the signal is forgotten. It says that it
//       was the handler before it wakes the thread, which may be woken for other reasons.
//   V3  A forked child has no thread, and no users: it begins anew.
#pragma once

namespace weft::detail {

class dump_service {
public:
    enum class on_request : bool { no, yes };
    /// 0 and `no`: none. \throws std::invalid_argument naming the option; std::system_error
    dump_service(int number, on_request);
    ~dump_service();
    dump_service(const dump_service&) = delete;
    dump_service& operator=(const dump_service&) = delete;

private:
    const bool is_used_;
};

}  // namespace weft::detail
