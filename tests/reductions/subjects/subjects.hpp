// subjects.hpp - functions whose calls are counted.
#pragma once

#include <atomic>
#include <functional>

namespace subjects {

/// A step of so many; each is a call, and nothing else is. \returns  how many.
long steps(long count);
long fib(int n);
/// Until told, in calls. \returns  what would not be computed otherwise.
long compute_until(const std::atomic<bool>& over);
/// Throws; a destructor takes so many steps meanwhile, and then the handler does.
void throw_and_take_steps(long while_unwinding, long in_the_handler);
void steps_without_exceptions(long count) noexcept;
/// Calls f from a function that is counted.
void call(const std::function<void()>& f);

/// A number whose moves and destructor are counted.
class parcel {
public:
    explicit parcel(int number) noexcept;
    parcel(parcel&& other) noexcept;
    parcel& operator=(parcel&& other) noexcept;
    ~parcel();
    int number() const noexcept { return number_; }

private:
    int number_;
};

}  // namespace subjects
