#include "runtime/chosen_signal.hpp"

#include <signal.h>

#include <cstring>
#include <stdexcept>

#include "runtime/dump/code_names.hpp"
#include "runtime/runtime_core.hpp"

namespace weft::detail {
namespace {

// Signals with a fixed use: those that cannot be handled, those that report an error of the thread
// itself, and those that the C library reserves.
bool is_taken_by_the_system(int number) noexcept {
    for (const int n : {SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS})
        if (number == n) return true;
    return number >= __SIGRTMIN && number < SIGRTMIN;
}

}  // namespace

std::string signal_in_words(const std::string& option, int number) {
    return "weft: runtime_options::" + option + ": signal " + std::to_string(number) + " (" + ::strsignal(number) + ')';
}

int chosen_signal(const char* variable, const std::string& option, int value) {
    if (const auto n = from_environment(variable, 0, static_cast<unsigned long>(SIGRTMAX))) value = static_cast<int>(*n);
    if (value < 0 || value > SIGRTMAX)
        throw std::invalid_argument("weft: runtime_options::" + option + " must be 0 (none) to " + std::to_string(SIGRTMAX) +
                                    ", not " + std::to_string(value));
    if (value != 0 && is_taken_by_the_system(value))
        throw std::invalid_argument(signal_in_words(option, value) + " has another use; take a real-time signal");
    return value;
}

void refuse_signal_with_handler(const std::string& option, int number) {
    struct sigaction other = {};
    ::sigaction(number, nullptr, &other);
    const auto* const handler = (other.sa_flags & SA_SIGINFO) != 0 ? reinterpret_cast<const void*>(other.sa_sigaction)
                                                                   : reinterpret_cast<const void*>(other.sa_handler);
    throw std::invalid_argument(signal_in_words(option, number) + " has a handler already: " + place_of(handler));
}

}  // namespace weft::detail
