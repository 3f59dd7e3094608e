// overflow.cpp - the SIGSEGV handler behind overflow_report.
#include "stack/overflow.hpp"

#include <sys/mman.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <mutex>

#include "base/atomic.hpp"
#include "stack/guard.hpp"
#include "stack/stack_map.hpp"

namespace weft::detail {
namespace {

constinit atomic<overflow_namer> namer_in_use{nullptr};
constinit std::mutex installing;
constinit int reports = 0;                     // under `installing`
struct sigaction previous_action = {};         // written before our handler is there to read it

/// A line put together without allocating; what does not fit is cut.
class line {
public:
    void add(std::string_view text) noexcept {
        auto const n = std::min(text.size(), text_.size() - used_);
        std::copy_n(text.data(), n, text_.data() + used_);
        used_ += n;
    }
    void add(std::size_t number) noexcept {
        std::array<char, 24> digits;
        auto const end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
        add(std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data())));
    }
    void print() const noexcept { static_cast<void>(!::write(STDERR_FILENO, text_.data(), used_)); }

private:
    std::array<char, 256> text_;
    std::size_t used_ = 0;
};

void print_report(std::size_t stack_bytes) noexcept {
    auto* const namer = namer_in_use.load(acquire);   // pairs with the release in set_overflow_namer()
    auto const fiber = namer != nullptr ? namer() : std::string_view();
    line text;
    text.add("weft: stack overflow");
    if (!fiber.empty()) {
        text.add(" in fiber \"");
        text.add(fiber.substr(0, 160));
        text.add("\"");
    }
    text.add(" (stack ");
    text.add(stack_bytes / 1024);
    text.add(" KiB)\n");
    text.print();
}

void restore_default() noexcept {
    struct sigaction action = {};
    action.sa_handler = SIG_DFL;
    ::sigaction(SIGSEGV, &action, nullptr);
}

extern "C" void on_segv(int number, siginfo_t* info, void* machine) {
    if (auto const bytes = stack_bytes_of_guard(info->si_addr)) {
        print_report(bytes);
        restore_default();
    } else if ((previous_action.sa_flags & SA_SIGINFO) != 0) {
        previous_action.sa_sigaction(number, info, machine);
    } else if (previous_action.sa_handler != SIG_DFL && previous_action.sa_handler != SIG_IGN) {
        previous_action.sa_handler(number);
    } else {
        restore_default();
    }
}

}  // namespace

overflow_report::overflow_report() noexcept {
    std::scoped_lock const lock(installing);
    if (reports++ > 0) return;
    ::sigaction(SIGSEGV, nullptr, &previous_action);
    struct sigaction action = {};
    action.sa_sigaction = on_segv;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigaction(SIGSEGV, &action, nullptr);
}

overflow_report::~overflow_report() {
    std::scoped_lock const lock(installing);
    if (--reports > 0) return;
    struct sigaction now = {};
    ::sigaction(SIGSEGV, nullptr, &now);
    if (now.sa_sigaction == on_segv) ::sigaction(SIGSEGV, &previous_action, nullptr);   // else somebody chains to us
}

alternate_stack::alternate_stack() noexcept {
    auto const least = static_cast<std::size_t>(std::max(::sysconf(_SC_MINSIGSTKSZ), 2048L));   // grows with the vector unit
    bytes_ = (least + (std::size_t{32} << 10)) / page_bytes() * page_bytes() + page_bytes();
    void* const memory = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED) return;   // this thread then dies of an overflow without a report
    memory_ = memory;
    stack_t mine = {};
    mine.ss_sp = memory_;
    mine.ss_size = bytes_;
    stack_t previous = {};
    ::sigaltstack(&mine, &previous);
    previous_memory_ = previous.ss_sp;
    previous_bytes_ = previous.ss_size;
    previous_flags_ = previous.ss_flags;
}

alternate_stack::~alternate_stack() {
    if (memory_ == nullptr) return;
    stack_t previous = {};
    previous.ss_sp = previous_memory_;
    previous.ss_size = previous_bytes_;
    previous.ss_flags = previous_flags_;
    ::sigaltstack(&previous, nullptr);
    ::munmap(memory_, bytes_);
}

void set_overflow_namer(overflow_namer namer) noexcept {
    namer_in_use.store(namer, release);   // pairs with the acquire in print_report()
}

}  // namespace weft::detail
