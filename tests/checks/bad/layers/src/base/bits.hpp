#include <unistd.h>
#include <sys/epoll.h>
#include <weft/low.hpp>
#include "sched/worker.hpp"    // BAD: looks up
#include "worker.hpp"          // BAD: does not exist from here
/* #include "sched/worker.hpp" */
char const* text = "#include \"sched/worker.hpp\"";
