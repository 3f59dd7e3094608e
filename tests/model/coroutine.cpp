// coroutine.cpp - ucontext switches with the announcements that ASan and TSan want.
#include "model/coroutine.hpp"

#include <cxxabi.h>

#include <utility>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MODEL_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define MODEL_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define MODEL_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define MODEL_TSAN 1
#endif

#if defined(MODEL_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(MODEL_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

#if defined(MODEL_ASAN)
// Threads begin and end millions of times here; a fake stack mapped for each costs far more than the runs themselves.
extern "C" const char* __asan_default_options() { return "detect_stack_use_after_return=0"; }
#endif

namespace model {
namespace {

constexpr std::size_t stack_bytes = 64 * 1024;  // chosen: gtest assertions format messages on it

// The one that left last and the one that is being entered; all of this runs on one OS thread.
coroutine* leaving = nullptr;
coroutine* entering = nullptr;

/// What the C++ runtime keeps per OS thread: the leading fields of __cxa_eh_globals. Each coroutine has handlers and unwindings of its own.
struct exceptions {
    void* caught = nullptr;
    unsigned int uncaught = 0;
};
exceptions& current_exceptions() noexcept { return *reinterpret_cast<exceptions*>(abi::__cxa_get_globals()); }

}  // namespace

coroutine::~coroutine() {
#if defined(MODEL_TSAN)
    if (stack_ && tsan_fiber_) __tsan_destroy_fiber(tsan_fiber_);
#endif
}

void coroutine::start_with(entry e) {
    if (!stack_) stack_ = std::make_unique_for_overwrite<std::byte[]>(stack_bytes);
    bottom_ = stack_.get();
    size_ = stack_bytes;
    fake_stack_ = nullptr;
    entry_ = e;
#if defined(MODEL_ASAN)
    __asan_unpoison_memory_region(stack_.get(), stack_bytes);
#endif
#if defined(MODEL_TSAN)
    if (tsan_fiber_) __tsan_destroy_fiber(tsan_fiber_);
    tsan_fiber_ = __tsan_create_fiber(0);
#endif
    ::getcontext(&context_);
    context_.uc_stack.ss_sp = stack_.get();
    context_.uc_stack.ss_size = stack_bytes;
    context_.uc_link = nullptr;
    ::makecontext(&context_, &coroutine::trampoline, 0);
}

void coroutine::trampoline() {
    coroutine& self = *entering;
    arrived(self);
    self.entry_();  // ends with go(..., then::ends) and does not return
}

void coroutine::arrived([[maybe_unused]] coroutine& self) {
#if defined(MODEL_ASAN)
    __sanitizer_finish_switch_fiber(self.fake_stack_, &leaving->bottom_, &leaving->size_);
#endif
}

void coroutine::go(coroutine& from, coroutine& to, [[maybe_unused]] then from_then) {
    leaving = &from;
    entering = &to;
#if defined(MODEL_ASAN)
    __sanitizer_start_switch_fiber(from_then == then::ends ? nullptr : &from.fake_stack_, to.bottom_, to.size_);
#endif
#if defined(MODEL_TSAN)
    from.tsan_fiber_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(to.tsan_fiber_, 0);
#endif
    const exceptions mine = std::exchange(current_exceptions(), {});
    ::swapcontext(&from.context_, &to.context_);
    current_exceptions() = mine;
    arrived(from);
}

}  // namespace model
