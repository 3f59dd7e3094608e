#include "sched/carrier.hpp"

WEFT_DEFINE_THREAD_WORD(weft_carrier_word);

namespace weft::detail {

void set_this_carrier(carrier* c) noexcept { weft_carrier_word = c; }

}  // namespace weft::detail
