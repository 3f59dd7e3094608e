// chosen_signal.hpp - a signal that a user has set aside for weft: whether it may be one, and what to say if not.
#pragma once

#include <string>

namespace weft::detail {

/// What `variable` of the environment says, else `value`; 0 is none. \throws std::invalid_argument naming the option
int chosen_signal(const char* variable, const std::string& option, int value);

/// "weft: runtime_options::OPTION: signal 34 (Real-time signal 0)".
std::string signal_in_words(const std::string& option, int number);

/// Its handler belongs to somebody else. \throws std::invalid_argument which says to whom
[[noreturn]] void refuse_signal_with_handler(const std::string& option, int number);

}  // namespace weft::detail
