// blocking.cpp - code that blocks or calls back, in C.
#include <weft/blocking.hpp>

#include <weft/fiber.hpp>
#include <weft/io/descriptor.hpp>

#include <exception>
#include <string>
#include <utility>

#include "capi/io_status.hpp"
#include "capi/status.hpp"

namespace weft::capi {
namespace {

/// What a callback brings.
struct brought {
    weft_status status;
    void* value;
};

/// Calls the body through by(call), and says how it has ended.
template <class By>
weft_status call_by(body_call body, int* result, By by) {
    return guarded([&]() -> weft_status {
        int value = 0;
        std::exception_ptr failure;
        by([&] {
            try {
                value = body();
            } catch (...) {
                failure = std::current_exception();
            }
        });
        if (failure) return failure_of_body(failure);
        if (result) *result = value;
        return WEFT_OK;
    });
}

}  // namespace
}  // namespace weft::capi

struct weft_resume {
    weft::resumer<weft::capi::brought> resume;
};

using namespace weft::capi;

weft_status weft_blocking(weft_body f, void* arg, int* result) {
    if (!f) return refuse("weft_blocking", "the function is null");
    return call_by(body_call{f, arg, failures()}, result, [](const auto& call) { weft::blocking(call); });
}

weft_status weft_as_thread(weft_body f, void* arg, int* result) {
    if (!f) return refuse("weft_as_thread", "the function is null");
    return call_by(body_call{f, arg, failures()}, result, [](const auto& call) { weft::this_fiber::as_thread(call); });
}

weft_status weft_await_callback(void (*start)(void* arg, weft_resume* r), void (*on_cancel)(void* arg), void* arg, void** value) {
    if (!start) return refuse("weft_await_callback", "start is null");
    return guarded([&]() -> weft_status {
        const auto before = failures();
        const auto got =
            weft::await_callback<brought>([&](weft::resumer<brought> resume) { start(arg, new weft_resume{std::move(resume)}); },
                                          [&] {
                                              if (on_cancel) on_cancel(arg);
                                          });
        if (got.status == WEFT_OK && value) *value = got.value;
        const bool lacks_words = got.status >= WEFT_EINVAL && failures() == before;  // start() may have some
        return lacks_words
                   ? fail(got.status, std::string("weft_await_callback: called back with ") + weft_status_name(got.status))
                   : got.status;
    });
}

void weft_resume_with(weft_resume* r, weft_status s, void* value) {
    if (!r) return;
    r->resume(brought{s, value});
    delete r;
}

void weft_resume_drop(weft_resume* r) { delete r; }

weft_status weft_wait_fd(int fd, int what, int64_t timeout_ns) {
    if (what != WEFT_READ && what != WEFT_WRITE) return refuse("weft_wait_fd", "what is neither WEFT_READ nor WEFT_WRITE");
    return guarded([&]() -> weft_status {
        std::error_code error;
        auto borrowed = weft::io::descriptor::borrow(fd, error);
        if (error) return fail(WEFT_ESYSTEM, "weft_wait_fd: " + error.message(), errno_of(error));
        if (timeout_ns != WEFT_FOREVER) {
            auto watch = what == WEFT_READ ? watch_readable(borrowed) : watch_writable(borrowed);
            return in_time(timeout_ns <= 0 ? is_ready(watch) : wait_ready(watch, deadline_of(timeout_ns)), timeout_ns);
        }
        what == WEFT_READ ? borrowed.wait_readable(error) : borrowed.wait_writable(error);
        return io_status(error, "weft_wait_fd");
    });
}
