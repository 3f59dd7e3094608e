// dump_service.hpp - makes dumps on request from outside: by a signal, or by `weft dump PID`.
//
// A dump requested by the signal (if one was chosen) goes to stderr; one requested by `weft dump
// PID` goes to that command. One thread per process makes the dumps, while any runtime wants it.
// The signal's handler only wakes this thread, so the signal may come at any instant, and a dump is
// made even if every worker hangs.
//
// Invariants
//   DUMP_SERVICE-1  There is one signal per process, or none as long as no user has chosen one. The
//                   handler is installed and the thread runs while there is a user; both end with
//                   the last user.
//   DUMP_SERVICE-2  The handler finds the descriptor that wakes the thread in an atomic. If that is
//                   -1, there is no thread, and the signal is dropped. The handler marks that the
//                   signal came before it wakes the thread, which may be woken for other reasons
//                   too.
//   DUMP_SERVICE-3  A forked child has no such thread and no users: it starts again from nothing.
#pragma once

namespace weft::detail {

class dump_service {
public:
    enum class on_request : bool { no, yes };
    /// 0 and `no`: no service. \throws std::invalid_argument naming the option; std::system_error
    dump_service(int number, on_request);
    ~dump_service();
    dump_service(const dump_service&) = delete;
    dump_service& operator=(const dump_service&) = delete;

private:
    const bool is_used_;
};

}  // namespace weft::detail
