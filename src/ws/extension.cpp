#include "ws/extension.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "http/ascii.hpp"
#include "http/field_list.hpp"

namespace weft::detail::ws {
namespace {

// required: zlib cannot send with a window of 8 bits
constexpr int least_window = 9, most_window = 15;

/// The parameters of one permessage-deflate. A window of 0: the name without a number.
struct parameters {
    bool server_no_takeover = false, client_no_takeover = false;
    std::optional<int> server_window, client_window;
};

/// \returns  empty for what is no window: 8 to 15, without zeros in front. [RFC7692, 7.1.2.1]
std::optional<int> window_of(std::string_view text) noexcept {
    if (text.size() >= 2 && text.starts_with('"') && text.ends_with('"')) text = text.substr(1, text.size() - 2);
    int n = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error != std::errc() || end != text.data() + text.size() || text.starts_with('0') || n < 8 || n > most_window) return {};
    return n;
}

template <class T>
bool set_once(T& to, T value) noexcept {
    return !std::exchange(to, value);
}

bool read_parameter(std::string_view text, parameters& into) {
    const bool has_value = text.find('=') != text.npos;
    const auto name = take_until(text, '=');
    const auto value = trimmed(text);
    if (equal_ignoring_case(name, "server_no_context_takeover")) return !has_value && set_once(into.server_no_takeover, true);
    if (equal_ignoring_case(name, "client_no_context_takeover")) return !has_value && set_once(into.client_no_takeover, true);
    const auto window = has_value ? window_of(value) : std::optional<int>(0);
    if (!window) return false;
    if (equal_ignoring_case(name, "server_max_window_bits")) return has_value && set_once(into.server_window, window);
    if (equal_ignoring_case(name, "client_max_window_bits")) return set_once(into.client_window, window);
    return false;
}

/// Calls each(parameters) for every permessage-deflate, or nullptr for one that cannot be read, and for other
/// extensions.
template <class Each>
void for_each_extension(const http::headers& in, const Each& each) {
    for_each_element(in, "Sec-WebSocket-Extensions", [&](std::string_view element) {
        parameters p;
        bool is_right = equal_ignoring_case(take_until(element, ';'), "permessage-deflate");
        while (is_right && !element.empty()) is_right = read_parameter(take_until(element, ';'), p);
        each(is_right ? &p : nullptr);
    });
}

std::string window_parameter(std::string_view name, int bits) {
    return std::string("; ").append(name) + "=" + std::to_string(bits);
}

}  // namespace

std::optional<agreed_deflate> choose_offer(const http::headers& asked, const deflate_wishes& of_server) {
    std::optional<agreed_deflate> made;
    for_each_extension(asked, [&](const parameters* offer) {
        if (made || !offer || (offer->server_window && *offer->server_window < least_window)) return;
        auto& a = made.emplace();
        a.answer = "permessage-deflate";
        a.terms.send_takeover = of_server.takeover && !offer->server_no_takeover;
        a.terms.receive_takeover = of_server.takeover && !offer->client_no_takeover;
        if (!a.terms.send_takeover) a.answer += "; server_no_context_takeover";
        if (!a.terms.receive_takeover) a.answer += "; client_no_context_takeover";
        a.terms.send_window = std::min(of_server.window, offer->server_window.value_or(most_window));
        if (offer->server_window || of_server.window < most_window)
            a.answer += window_parameter("server_max_window_bits", a.terms.send_window);
    });
    return made;
}

std::string offer_of(const deflate_wishes& of_client) {
    std::string made = "permessage-deflate";
    if (!of_client.takeover) made += "; server_no_context_takeover; client_no_context_takeover";
    made += of_client.window < most_window ? window_parameter("client_max_window_bits", of_client.window)
                                           : "; client_max_window_bits";
    return made;
}

std::optional<deflate_terms> read_answer(const http::headers& answer, const deflate_wishes* offered, bool& is_wrong) {
    std::optional<deflate_terms> made;
    for_each_extension(answer, [&](const parameters* p) {
        // What the server needs this end to do, and what it was asked to do itself.
        if (made || !p || !offered || (!offered->takeover && !p->server_no_takeover) ||
            (p->client_window && (*p->client_window < least_window))) {
            is_wrong = true;
            return;
        }
        made = deflate_terms{.send_window = std::min(offered->window, p->client_window.value_or(most_window)),
                             .send_takeover = offered->takeover && !p->client_no_takeover,
                             .receive_takeover = !p->server_no_takeover};
    });
    return made;
}

}  // namespace weft::detail::ws
