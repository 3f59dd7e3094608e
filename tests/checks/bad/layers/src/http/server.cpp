#include <boost/beast.hpp>
#include "net/tcp.hpp"
#include <weft/high.hpp>
