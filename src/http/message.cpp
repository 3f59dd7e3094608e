// message.cpp - what a request answers about itself, and how the usual responses are made.
#include <weft/http/message.hpp>

#include <stdexcept>

namespace weft::http {
namespace {

const std::string nothing;

const std::string* find(const request_parts::pairs& pairs, std::string_view name) noexcept {
    for (const auto& [key, value] : pairs)
        if (key == name) return &value;
    return nullptr;
}

response make(int status, std::string_view type, std::string body) {
    response made{.status = status, .headers = {}, .body = std::move(body)};
    made.headers.add(detail::checked_field{"Content-Type", type});
    return made;
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

const std::string& request::query(std::string_view name) const noexcept {
    const auto* value = find(parts_.query_parameters, name);
    return value ? *value : nothing;
}

bool request::has_query(std::string_view name) const noexcept { return find(parts_.query_parameters, name) != nullptr; }

std::string_view request::header(std::string_view name) const noexcept {
    return parts_.headers.find(name).value_or(std::string_view{});
}

response text(int status, std::string body) { return make(status, "text/plain; charset=utf-8", std::move(body)); }
response text(int status, std::string_view body) { return text(status, std::string(body)); }
response text(int status, const char* body) { return text(status, std::string(body)); }
response json(int status, std::string serialized) { return make(status, "application/json", std::move(serialized)); }

}  // namespace weft::http
