// coroutine.hpp - a modelled thread's stack, run by ucontext on one OS thread and made known to the sanitizers.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <memory>

namespace model {

class coroutine {
public:
    using entry = void (*)();

    coroutine() = default;
    coroutine(const coroutine&) = delete;
    coroutine& operator=(const coroutine&) = delete;
    ~coroutine();

    /// Gives it a stack, kept for the next time, and lets it begin with `e`. Whatever ran there before is forgotten.
    void start_with(entry e);

    enum class then : bool { resumes, ends };

    /// Leaves `from` and goes on in `to`. The OS thread's own stack is a coroutine that was never started.
    static void go(coroutine& from, coroutine& to, then from_then = then::resumes);

private:
    static void trampoline();
    static void arrived(coroutine& self);

    ucontext_t context_{};
    std::unique_ptr<std::byte[]> stack_;
    const void* bottom_ = nullptr;  // of the stack, for ASan
    std::size_t size_ = 0;
    [[maybe_unused]] void* fake_stack_ = nullptr;  // ASan's
    [[maybe_unused]] void* tsan_fiber_ = nullptr;
    entry entry_ = nullptr;
};

}  // namespace model
