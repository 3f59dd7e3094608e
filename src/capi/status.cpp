#include "capi/status.hpp"

#include <weft/channel.hpp>
#include <weft/detail/local_core.hpp>
#include <weft/stop.hpp>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

#include "base/never_destroyed.hpp"
#include "base/panic.hpp"

namespace weft::capi {
namespace {

/// What is kept for a fiber or thread: its last failure, whose words are cut, so that keeping them
/// allocates once only, and the number of its open scopes.
struct kept_for_c final : detail::local_value {
    void set(std::string_view what, int errno_value) noexcept {
        const auto n = std::min(what.size(), words.size() - 1);
        std::memmove(words.data(), what.data(), n);  // `what` may be these words
        words[n] = '\0';
        number = errno_value;
        ++count;
    }

    std::array<char, 512> words{};
    int number = 0;
    unsigned count = 0;
    unsigned open_scopes = 0;
};

// Used by fibers that may end after static objects do.
detail::local_key& key() {
    static detail::never_destroyed<detail::local_key> k;
    return *k;
}

kept_for_c* find_kept() noexcept { return static_cast<kept_for_c*>(key().find()); }

kept_for_c& kept() {
    if (auto* const known = find_kept()) return *known;
    return static_cast<kept_for_c&>(key().keep(std::make_unique<kept_for_c>()));
}

/// Carries the words of a body that has returned WEFT_EFAILED.
class body_failed final : public std::exception {
public:
    body_failed(const char* words, int errno_value) : words_(std::make_shared<std::string>(words)), number_(errno_value) {}
    const char* what() const noexcept override { return words_->c_str(); }
    int number() const noexcept { return number_; }

private:
    std::shared_ptr<std::string> words_;  // shared, so that copies of the exception cannot throw
    int number_;
};

/// Calls tell(words, errno) with what a body's failure has to say.
template <class F>
auto read_failure(const std::exception_ptr& failure, F&& tell) {
    try {
        std::rethrow_exception(failure);
    } catch (const body_failed& e) {
        return tell(e.what(), e.number());
    } catch (const std::exception& e) {
        return tell(e.what(), 0);
    } catch (const cancelled&) {
        return tell("the body was stopped, and left by weft::cancelled", 0);
    } catch (...) {
        return tell("an exception that is not a std::exception", 0);
    }
}

weft_status fail_in(const char* function, weft_status s, const char* what) noexcept {
    std::array<char, 256> words;
    std::snprintf(words.data(), words.size(), "%s: %s", function, what);
    return fail(s, words.data());
}

}  // namespace

weft_status fail(weft_status s, std::string_view words, int number) noexcept {
    try {
        kept().set(words, number);
    } catch (const std::bad_alloc&) {
        // the status alone has to do
    }
    return s;
}

weft_status caught() noexcept {
    try {
        throw;
    } catch (const cancelled&) {
        return WEFT_CANCELED;
    } catch (const channel_closed&) {
        return WEFT_CLOSED;
    } catch (const std::bad_alloc&) {
        return fail(WEFT_ENOMEM, "no memory");
    } catch (const std::invalid_argument& e) {
        return fail(WEFT_EINVAL, e.what());
    } catch (const std::system_error& e) {
        if (errno_of(e.code()) == EAGAIN) return fail(WEFT_ELIMIT, e.what(), EAGAIN);
        if (e.code() == std::errc::not_enough_memory) return fail(WEFT_ENOMEM, e.what(), errno_of(e.code()));
        if (e.code() == std::errc::no_child_process) return fail(WEFT_ESTATE, e.what());  // a runtime of the parent process
        return fail(WEFT_ESYSTEM, e.what(), errno_of(e.code()));
    } catch (const std::exception& e) {
        return fail(WEFT_EFAILED, e.what());
    } catch (...) {
        return fail(WEFT_EFAILED, "an exception that is not a std::exception");
    }
}

weft_status failure_of_body(const std::exception_ptr& failure) noexcept {
    return read_failure(failure, [](const char* words, int number) { return fail(WEFT_EFAILED, words, number); });
}

std::string words_of_failure(const std::exception_ptr& failure) {
    return read_failure(failure, [](const char* words, int) { return std::string(words); });
}

unsigned open_scopes() noexcept {
    const auto* const known = find_kept();
    return known ? known->open_scopes : 0;
}

void count_open_scope(int change) { kept().open_scopes += static_cast<unsigned>(change); }

unsigned failures() noexcept {
    const auto* const known = find_kept();
    return known ? known->count : 0;
}

weft_status refuse(const char* function, const char* what) noexcept { return fail_in(function, WEFT_EINVAL, what); }

weft_status no_runtime(const char* function) noexcept {
    return fail_in(function, WEFT_ENOFIBER, "no runtime was given, and the caller is a plain thread");
}

weft_status not_here(const char* function) noexcept {
    return fail_in(function, WEFT_ESTATE, "the runtime runs in the parent process: weft_runtime_restart() begins it anew");
}

weft_status copy_text(const char* function, std::string_view words, char* text, std::size_t n) noexcept {
    if (!text) return refuse(function, "the text is null");
    if (words.size() >= n) return refuse(function, "n bytes are too few");
    std::memcpy(text, words.data(), words.size());
    text[words.size()] = '\0';
    return WEFT_OK;
}

void body_call::leave_open_frame() noexcept {
    detail::panic("a body has returned inside a shield, deadline, pin or scope that it has not left");
}

void body_call::throw_failure(unsigned failures_before) {
    const auto* const known = find_kept();
    if (known && known->count != failures_before && known->words.front() != '\0')
        throw body_failed(known->words.data(), known->number);
    throw body_failed("the body returned WEFT_EFAILED", 0);
}

weft_status copy_options(const char* function, const void* from, void* to, std::size_t bytes) noexcept {
    std::memset(to, 0, bytes);
    std::size_t given = bytes;
    if (from) std::memcpy(&given, from, sizeof given);
    // Version 0.1 is the first; a later one compares with the size that the struct had in 0.1.
    if (given < bytes) return refuse(function, "the options have too small a size: call their _init function first");
    const auto* const rest = static_cast<const unsigned char*>(from);
    for (std::size_t i = bytes; i < given; ++i)
        if (rest[i] != 0) return refuse(function, "the options use a member that this version of the library does not know");
    if (from) std::memcpy(to, from, bytes);
    return WEFT_OK;
}

}  // namespace weft::capi

using namespace weft::capi;

const char* weft_error(void) {
    const auto* const known = find_kept();
    return known ? known->words.data() : "";
}

int weft_error_errno(void) {
    const auto* const known = find_kept();
    return known ? known->number : 0;
}

weft_status weft_fail(const char* words) { return fail(WEFT_EFAILED, words ? words : ""); }

const char* weft_status_name(weft_status s) {
    switch (s) {
        case WEFT_OK: return "WEFT_OK";
        case WEFT_TIMEDOUT: return "WEFT_TIMEDOUT";
        case WEFT_BUSY: return "WEFT_BUSY";
        case WEFT_CLOSED: return "WEFT_CLOSED";
        case WEFT_DONE: return "WEFT_DONE";
        case WEFT_CANCELED: return "WEFT_CANCELED";
        case WEFT_EINVAL: return "WEFT_EINVAL";
        case WEFT_ENOMEM: return "WEFT_ENOMEM";
        case WEFT_ELIMIT: return "WEFT_ELIMIT";
        case WEFT_ESYSTEM: return "WEFT_ESYSTEM";
        case WEFT_EFAILED: return "WEFT_EFAILED";
        case WEFT_ESTATE: return "WEFT_ESTATE";
        case WEFT_ENOFIBER: return "WEFT_ENOFIBER";
        default: return "unknown status";
    }
}

uint32_t weft_version(void) { return WEFT_C_VERSION; }
