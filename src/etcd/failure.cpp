#include "etcd/failure.hpp"

#include <utility>

namespace weft::detail::etcd {

using weft::etcd::etcd_errc;

namespace {

constexpr std::size_t most_words = 200;  // chosen: of a stranger's text in a message

/// What the words say, where the code says less. They are those of etcd's rpctypes.
bool judge_words(failure& f) {
    const struct {
        std::string_view part;
        etcd_errc reason;
    } known[] = {
        {"no leader", etcd_errc::no_leader},
        {"has been compacted", etcd_errc::compacted},
        {"future revision", etcd_errc::future_revision},
        {"lease not found", etcd_errc::lease_not_found},
        {"lease already exists", etcd_errc::lease_exists},
        {"invalid auth token", etcd_errc::auth_failed},
        {"authentication failed", etcd_errc::auth_failed},
        {"user name is empty", etcd_errc::auth_failed},
        {"authentication is not enabled", etcd_errc::auth_failed},
        {"revision in header is old", etcd_errc::auth_failed},
        {"permission denied", etcd_errc::permission_denied},
        {"request is too large", etcd_errc::too_large},
    };
    for (const auto& each : known) {
        if (f.words.find(each.part) == std::string::npos) continue;
        f.reason = each.reason;
        f.old_token = each.part == "invalid auth token" || each.part == "revision in header is old";
        return true;
    }
    return false;
}

void judge_code(failure& f, std::int64_t code) {
    switch (code) {
        case 3: f.reason = etcd_errc::invalid; return;
        case 5: f.reason = etcd_errc::not_found; return;
        case 7: f.reason = etcd_errc::permission_denied; return;
        case 8: f.reason = etcd_errc::overloaded; return;
        case 9:
        case 11:
        case 12: f.reason = etcd_errc::invalid; return;
        case 16: f.reason = etcd_errc::auth_failed; return;
        case 4:
        case 14:
            f.reason = etcd_errc::unavailable;
            f.maybe_done = true;
            return;
        default: f.reason = etcd_errc::server; f.maybe_done = true;
    }
}

}  // namespace

failure judge(std::int64_t code, std::string words) {
    failure f{.words = std::move(words)};
    if (f.words.size() > most_words) f.words.resize(most_words);
    for (char& c : f.words)
        if (static_cast<unsigned char>(c) < 0x20) c = '?';
    if (!judge_words(f)) judge_code(f, code);
    return f;
}

failure failure_of(const json& object) {
    const auto& error = at(object, "error");
    if (error.is_object()) return judge(integer_at(error, "grpc_code"), text_at(error, "message"));  // of a stream
    return judge(integer_at(object, "code"), error.is_string() ? text_at(object, "error") : text_at(object, "message"));
}

failure failure_in(int status, std::string_view body) {
    const bool is_away = status == 502 || status == 503 || status == 504;  // says a proxy
    try {
        const auto answer = parse_object(body);
        if (!at(answer, "error").is_null() || !at(answer, "code").is_null()) return failure_of(answer);
    } catch (const bad_answer&) {}
    return {.reason = is_away ? etcd_errc::unavailable : etcd_errc::protocol,
            .words = "status " + std::to_string(status),
            .maybe_done = true};
}

failure failure_of(const http::client_error& e) {
    auto reason = etcd_errc::unavailable;
    if (e.code().category() == http::client_error_category()) {
        switch (static_cast<http::client_errc>(e.code().value())) {
            case http::client_errc::body_too_large:
            case http::client_errc::head_too_large: reason = etcd_errc::too_large; break;
            case http::client_errc::closed_early: break;
            default: reason = etcd_errc::protocol;
        }
    }
    return {.reason = reason, .words = e.what(), .maybe_done = e.was_sent()};
}

}  // namespace weft::detail::etcd
