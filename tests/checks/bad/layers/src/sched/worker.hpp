#include "base/bits.hpp"
#include "queue.hpp"
#include <weft/high.hpp>       // BAD: a public header of a higher layer
  #  include   "net/tcp.hpp"   // BAD: looks up, oddly spaced
