// make_engine.cpp - chooses the engine of a runtime. No other source outside an engine's own folder
// names one.
#include "io/engine.hpp"
#include "io/epoll/epoll_engine.hpp"

namespace weft::detail {

std::unique_ptr<io_engine> make_io_engine() { return std::make_unique<epoll_engine>(); }

}  // namespace weft::detail
