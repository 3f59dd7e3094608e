#include "sched/worker.hpp"
#include "flow/generator.hpp"  // BAD: a folder of the same row
#include <boost/beast.hpp>     // BAD: only http may
#include <sqlite3.h>           // BAD: nobody may
