// renamed.hpp - stands before all else in each file of src/hooks that is compiled to be linked statically.
//
// The linker is told to --wrap these functions: a call of read() becomes one of __wrap_read(), the hook,
// and __real_read() is the C library's. So the functions of src/hooks get the names with __wrap_.
#pragma once

#define WEFT_PRAGMA(text) _Pragma(#text)
#define WEFT_RENAME(from, to) WEFT_PRAGMA(redefine_extname from to)
#define WEFT_HOOKED(name) WEFT_RENAME(name, __wrap_##name)
#define WEFT_CALLED(name)
#include "hooks/linked/names.def"
#undef WEFT_CALLED
#undef WEFT_HOOKED
#undef WEFT_RENAME
#undef WEFT_PRAGMA

// No header declares these, and a definition alone would keep its name.
#include <poll.h>
#include <signal.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>  // before the C++ library declares another wait()
#include <time.h>

extern "C" {
int __connect(int, const sockaddr*, socklen_t);
int __nanosleep(const timespec*, timespec*);
int __poll(pollfd*, nfds_t, int);
int __select(int, fd_set*, fd_set*, fd_set*, timeval*);
ssize_t __send(int, const void*, size_t, int);
ssize_t __read_chk(int, void*, size_t, size_t);
ssize_t __recv_chk(int, void*, size_t, size_t, int);
ssize_t __recvfrom_chk(int, void*, size_t, size_t, int, sockaddr*, socklen_t*);
int __poll_chk(pollfd*, nfds_t, int, size_t);
int __ppoll_chk(pollfd*, nfds_t, const timespec*, const sigset_t*, size_t);
}
