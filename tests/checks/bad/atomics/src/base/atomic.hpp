#include <atomic>
using order = std::memory_order;
