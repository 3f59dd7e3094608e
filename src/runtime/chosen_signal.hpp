// chosen_signal.hpp - checks a signal that a user has set aside for weft, and words the errors.
#pragma once

#include <string>

namespace weft::detail {

/// The value of `variable` in the environment if it is set, else `value`; 0 means none.
/// \throws std::invalid_argument naming the option
int chosen_signal(const char* variable, const std::string& option, int value);

/// "weft: runtime_options::OPTION: signal 34 (Real-time signal 0)".
std::string signal_in_words(const std::string& option, int number);

/// The signal has a handler of other code already.
/// \throws std::invalid_argument which says whose it is
[[noreturn]] void refuse_signal_with_handler(const std::string& option, int number);

}  // namespace weft::detail
