// message.cpp - the members of a request, and the functions that make common responses.
#include <weft/http/message.hpp>

#include <stdexcept>
#include <utility>

#include "base/atomic.hpp"
#include "http/streamed_answer.hpp"
#include "http/uri.hpp"

namespace weft::detail {
namespace {

struct asked_parameter {
    std::string name;
    std::string value;
    const asked_parameter* next;
};

struct asked_list {
    atomic<const asked_parameter*> first;
};

}  // namespace

asked_parameters::asked_parameters(asked_parameters&& other) noexcept {
    // relaxed: no other thread has access to either (MESSAGE-2)
    list_.as<asked_list>().first.store(other.list_.as<asked_list>().first.exchange(nullptr, relaxed), relaxed);
}

asked_parameters& asked_parameters::operator=(const asked_parameters& other) noexcept {
    if (this != &other) clear();
    return *this;
}

asked_parameters& asked_parameters::operator=(asked_parameters&& other) noexcept {
    // both relaxed: MESSAGE-2
    const auto* moved = other.list_.as<asked_list>().first.exchange(nullptr, relaxed);
    clear();
    list_.as<asked_list>().first.store(moved, relaxed);
    return *this;
}

const std::string* asked_parameters::find(std::string_view name) const noexcept {
    // Pairs with the release in add(): everything in the list is complete.
    for (const auto* p = list_.as<asked_list>().first.load(acquire); p; p = p->next)
        if (p->name == name) return &p->value;
    return nullptr;
}

const std::string& asked_parameters::add(std::string_view name, std::string value) const {
    auto& first = list_.as<asked_list>().first;
    // acquire pairs with the release of another add()
    auto* added = new asked_parameter{std::string(name), std::move(value), first.load(acquire)};
    // release pairs with the acquire in find(). acquire: the next element may be another thread's,
    // and find() reaches it through this one.
    while (!first.compare_exchange_weak(added->next, added, acq_rel, acquire)) {}
    return added->value;
}

void asked_parameters::drop() noexcept {
    const auto* p = list_.as<asked_list>().first.exchange(nullptr, relaxed);  // MESSAGE-2
    while (p) delete std::exchange(p, p->next);
}

}  // namespace weft::detail

namespace weft::http {
namespace {

const std::string nothing;

const std::string* find(const request_parts::pairs& pairs, std::string_view name) noexcept {
    for (const auto& [key, value] : pairs)
        if (key == name) return &value;
    return nullptr;
}

response make(int status, std::string_view constant_type, std::string body) {
    return {.status = status, .headers = headers(detail::constant_type{constant_type}), .body = std::move(body)};
}

}  // namespace

std::string_view request::path() const noexcept {
    const std::string_view target = parts_.target;
    return target.substr(0, target.find('?'));
}

const std::string& request::path(std::string_view name) const {
    if (const auto* value = find(parts_.path_parameters, name)) return *value;
    throw std::out_of_range("weft: no {" + std::string(name) + "} in the pattern that matched " + parts_.target);
}

std::string_view request::query_text() const noexcept { return detail::query_of(parts_.target); }

const std::string& request::query(std::string_view name) const {
    if (!parts_.query_parameters.empty()) {
        const auto* value = find(parts_.query_parameters, name);
        return value ? *value : nothing;
    }
    if (const auto* known = asked_.find(name)) return *known;
    const auto value = detail::find_parameter(query_text(), name);
    return value && !value->empty() ? asked_.add(name, detail::form_decoded(*value)) : nothing;
}

bool request::has_query(std::string_view name) const noexcept {
    if (!parts_.query_parameters.empty()) return find(parts_.query_parameters, name) != nullptr;
    return detail::find_parameter(query_text(), name).has_value();
}

request_parts::pairs request::query_parameters() const {
    if (!parts_.query_parameters.empty()) return parts_.query_parameters;
    request_parts::pairs all;
    detail::parse_query(query_text(), all);
    return all;
}

std::string_view request::header(std::string_view name) const noexcept {
    return parts_.headers.find(name).value_or(std::string_view{});
}

response text(int status, std::string body) { return make(status, "text/plain; charset=utf-8", std::move(body)); }
response text(int status, std::string_view body) { return text(status, std::string(body)); }
response text(int status, const char* body) { return text(status, std::string(body)); }

response stream(int status, std::string_view type, body_function writes, std::optional<std::uint64_t> length) {
    if (!writes) throw std::invalid_argument("weft: http: stream() without a function");
    response made{.status = status, .stream = std::move(writes), .stream_length = length};
    made.headers.add("Content-Type", type);
    return made;
}

response shared_body(int status, std::string_view type, std::shared_ptr<const std::string> body) {
    if (!body) throw std::invalid_argument("weft: http: shared_body() without a body");
    const auto length = body->size();
    if (length < detail::collected_bytes) {  // it would be copied twice
        response made{.status = status, .body = *body};
        made.headers.add("Content-Type", type);
        return made;
    }
    return stream(
        status, type, [body = std::move(body)](body_writer& out) { out.write(*body); }, length);
}

response json(int status, std::string serialized) { return make(status, "application/json", std::move(serialized)); }

}  // namespace weft::http
