// exchange.cpp - requests and answers in C.
#include "capi/http/exchange.hpp"

#include <weft/detail/timeouts.hpp>

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "capi/status.hpp"
#include "fiber/interrupts.hpp"

namespace weft::capi {
namespace {

weft_piece piece_of(std::string_view text) noexcept { return {text.data(), text.size()}; }

http::body_error too_large() { return http::body_error(413, "the body is larger than max_body_bytes"); }

/// Tells the program that an answer's body is over, once.
class end_of_answer {
public:
    end_of_answer(void (*end)(void*), void* user) noexcept : end_(end), user_(user) {}
    end_of_answer(const end_of_answer&) = delete;
    end_of_answer& operator=(const end_of_answer&) = delete;
    ~end_of_answer() { tell(); }
    void tell() noexcept {
        if (auto* const f = std::exchange(end_, nullptr)) f(user_);
    }
    void forget() noexcept { end_ = nullptr; }

private:
    void (*end_)(void*);
    void* user_;
};

/// A body that a function of C writes.
struct c_writer {
    weft_http_writer write;
    void* user;
    std::shared_ptr<end_of_answer> end;
    std::shared_ptr<weft_http_request> request;

    void operator()(http::body_writer& out) const {
        weft_http_body body{.out = out, .of = *request};
        const auto failures_before = failures();
        const int result = body_call::run_closed([&] { return write(&body, user); });
        end->tell();
        check_result(result, failures_before, body.failure ? body.failure : request->failure);
    }
};

/// What is common to both kinds of answers.
template <class F>
weft_status answer(const char* function, weft_http_request* q, int status, const weft_http_field* fields, std::size_t n_fields,
                   F&& set_body) noexcept {
    if (!q) return refuse(function, "the request is null");
    if (!fields && n_fields != 0) return refuse(function, "fields is null");
    if (status < 200 || status > 999) return refuse(function, "the status is not 200 to 999");
    if (q->answer) return fail(WEFT_ESTATE, std::string(function) + ": the request has an answer already");
    return guarded([&]() -> weft_status {
        const std::span all(fields, n_fields);
        std::size_t bytes = 0;
        for (const auto& f : all) {
            if (!f.name || (!f.value && f.value_size != 0)) return refuse(function, "a field has a null name or value");
            bytes += f.name_size + f.value_size;
        }
        auto& r = q->answer.emplace();
        try {
            r.status = status;
            r.headers.reserve(n_fields, bytes);
            for (const auto& f : all) r.headers.add({f.name, f.name_size}, {f.value, f.value_size});
            set_body(r);
        } catch (...) {
            q->answer.reset();
            throw;
        }
        return WEFT_OK;
    });
}

/// One call that writes. Its failure is kept, and is that of the answer.
template <class F>
weft_status write(const char* function, weft_http_body* out, F&& work) noexcept {
    if (!out) return refuse(function, "the body is null");
    try {
        work(out->out);
        return WEFT_OK;
    } catch (...) {
        out->failure = std::current_exception();
        return caught();
    }
}

}  // namespace

void check_result(int result, unsigned failures_before, const std::exception_ptr& known) {
    if (result == WEFT_OK) return;
    if (known) std::rethrow_exception(known);
    if (result == WEFT_CANCELED) detail::check_interrupt();
    const bool has_words = failures() != failures_before;
    throw std::runtime_error(std::string("weft: http: the handler returned ") + weft_status_name(result) +
                             (has_words ? std::string(": ") + weft_error() : std::string()));
}

http::response c_handler::operator()(const http::request& asked, http::body_reader& body) const {
    if (const auto left = body.left(); left && *left > max_body_bytes) throw too_large();
    weft_http_request q{.asked = asked, .body = body, .bytes_left = max_body_bytes};
    const auto failures_before = failures();
    const int result = body_call::run_closed([&] { return f(&q, user); });
    if (result != WEFT_OK || q.failure) q.answer.reset();  // outside of unwinding, since its end may park
    if (q.failure) std::rethrow_exception(q.failure);
    check_result(result, failures_before, {});
    if (!q.answer) throw std::runtime_error("weft: http: the handler returned WEFT_OK without an answer");
    return std::move(*q.answer);
}

}  // namespace weft::capi

using namespace weft::capi;

weft_piece weft_http_method(const weft_http_request* q) { return q ? piece_of(q->asked.method()) : weft_piece{}; }
weft_piece weft_http_target(const weft_http_request* q) { return q ? piece_of(q->asked.target()) : weft_piece{}; }
weft_piece weft_http_path(const weft_http_request* q) { return q ? piece_of(q->asked.path()) : weft_piece{}; }

weft_piece weft_http_query(const weft_http_request* q) {
    if (!q) return {};
    const std::string_view target = q->asked.target();
    const auto mark = target.find('?');
    return piece_of(mark == std::string_view::npos ? target.substr(target.size()) : target.substr(mark + 1));
}

int weft_http_minor_version(const weft_http_request* q) { return q ? q->asked.parts().minor_version : 0; }

weft_piece weft_http_path_parameter(const weft_http_request* q, const char* name) {
    if (!q || !name) return {};
    for (const auto& [known, value] : q->asked.parts().path_parameters)
        if (known == name) return piece_of(value);
    return {};
}

weft_piece weft_http_header(const weft_http_request* q, const char* name) {
    if (!q || !name) return {};
    const auto value = q->asked.headers().find(name);
    return value ? piece_of(*value) : weft_piece{};
}

size_t weft_http_header_count(const weft_http_request* q) { return q ? q->asked.headers().size() : 0; }

weft_http_field weft_http_header_at(const weft_http_request* q, size_t i) {
    if (!q || i >= q->asked.headers().size()) return {};
    const auto f = q->asked.headers()[i];
    return {f.name.data(), f.name.size(), f.value.data(), f.value.size()};
}

weft_piece weft_http_head(const weft_http_request* q) {
    return q ? piece_of(weft::detail::stored_text(q->asked.headers())) : weft_piece{};
}

weft_piece weft_http_peer_host(const weft_http_request* q) {
    if (!q || q->asked.peer().host.empty()) return {};
    return piece_of(q->asked.peer().host);
}

uint16_t weft_http_peer_port(const weft_http_request* q) { return q ? q->asked.peer().port : uint16_t{0}; }

int64_t weft_http_body_left(const weft_http_request* q) {
    if (!q) return 0;
    const auto left = q->body.left();
    return left ? static_cast<int64_t>(*left) : -1;
}

weft_status weft_http_read(weft_http_request* q, void* into, size_t n, size_t* got) {
    if (got) *got = 0;
    if (!q) return refuse("weft_http_read", "the request is null");
    if (!got) return refuse("weft_http_read", "got is null");
    if (!into && n != 0) return refuse("weft_http_read", "the buffer is null");
    try {
        if (q->failure) std::rethrow_exception(q->failure);
        const auto read = q->body.read_some({static_cast<std::byte*>(into), n});
        if (read > q->bytes_left) throw too_large();
        q->bytes_left -= read;
        *got = read;
        return WEFT_OK;
    } catch (const weft::http::body_error&) {
        q->failure = std::current_exception();
        return caught();
    } catch (...) {
        return caught();
    }
}

weft_status weft_http_answer(weft_http_request* q, int status, const weft_http_field* fields, size_t n_fields, const void* body,
                             size_t n) {
    if (!body && n != 0) return refuse("weft_http_answer", "the body is null");
    return answer("weft_http_answer", q, status, fields, n_fields,
                  [&](auto& r) { r.body.assign(static_cast<const char*>(body), n); });
}

weft_status weft_http_stream(weft_http_request* q, int status, const weft_http_field* fields, size_t n_fields, int64_t length,
                             weft_http_writer write, void (*end)(void*), void* user) {
    if (!write) return refuse("weft_http_stream", "write is null");
    if (length < -1) return refuse("weft_http_stream", "the length is less than -1");
    return answer("weft_http_stream", q, status, fields, n_fields, [&](auto& r) {
        auto request = std::make_shared<weft_http_request>(weft_http_request{q->asked, q->body, q->bytes_left});
        auto ending = std::make_shared<end_of_answer>(end, user);
        try {
            r.stream = c_writer{write, user, ending, std::move(request)};
        } catch (...) {
            ending->forget();
            throw;
        }
        if (length >= 0) r.stream_length = static_cast<uint64_t>(length);
    });
}

weft_status weft_http_write(weft_http_body* out, const void* data, size_t n) {
    if (!data && n != 0) return refuse("weft_http_write", "the data is null");
    return write("weft_http_write", out, [&](auto& body) { body.write(std::string_view(static_cast<const char*>(data), n)); });
}

weft_status weft_http_write_file(weft_http_body* out, int fd, uint64_t offset, uint64_t n) {
    return write("weft_http_write_file", out, [&](auto& body) { body.write_file(fd, offset, n); });
}

weft_status weft_http_flush(weft_http_body* out) {
    return write("weft_http_flush", out, [](auto& body) { body.flush(); });
}

weft_http_request* weft_http_request_of(weft_http_body* out) { return out ? &out->of : nullptr; }

bool weft_http_stopping(const weft_http_body* out) { return out && out->out.stopping(); }
