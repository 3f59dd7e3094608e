// field_list.cpp - how lists in fields are searched, and how a content coding is chosen.
#include "http/field_list.hpp"

#include <string>

namespace weft::detail {
namespace {

/// A qvalue in thousandths: "0" or "1", and up to three digits after a dot. Nothing if it is none.
std::optional<int> weight_of(std::string_view q) noexcept {
    if (q.empty() || q.size() > 5 || (q[0] != '0' && q[0] != '1') || (q.size() > 1 && q[1] != '.')) return std::nullopt;
    int thousandths = q[0] == '1' ? 1000 : 0;
    int unit = 100;
    for (char c : q.substr(q.size() > 1 ? 2 : 1)) {
        if (!is_digit(c)) return std::nullopt;
        thousandths += (c - '0') * unit;
        unit /= 10;
    }
    return thousandths <= 1000 ? std::optional(thousandths) : std::nullopt;
}

/// The weight among the parameters of an element; 1 if there is none. A malformed one refuses.
int weight_among(std::string_view parameters) noexcept {
    while (!parameters.empty()) {
        auto value = take_until(parameters, ';');
        const auto parameter = take_until(value, '=');
        if (equal_ignoring_case(parameter, "q")) return weight_of(trimmed(value)).value_or(0);
    }
    return 1000;
}

}  // namespace

bool has_element(const http::headers& in, std::string_view name, std::string_view word) {
    bool found = false;
    for_each_element(in, name, [&](std::string_view element) { found |= equal_ignoring_case(element, word); });
    return found;
}

void add_vary(http::headers& to, std::string_view name) {
    if (has_element(to, "Vary", "*") || has_element(to, "Vary", name)) return;
    std::string all;
    for_each_element(to, "Vary", [&](std::string_view element) { all.append(element).append(", "); });
    to.set("Vary", all.append(name));
}

accepted_codings::accepted_codings(const http::headers& asked) {
    for_each_element(asked, "Accept-Encoding", [&](std::string_view element) {
        const auto named = take_until(element, ';');
        const auto is = [&](std::string_view word) { return equal_ignoring_case(named, word); };
        std::optional<int>* const known = is("gzip") || is("x-gzip") ? &gzip_
                                          : is("zstd")               ? &zstd_
                                          : is("identity")           ? &identity_
                                          : is("*")                  ? &other_
                                                                     : nullptr;
        if (known && !*known) *known = weight_among(element);
    });
}

std::string_view name(coding c) noexcept {
    switch (c) {
        case coding::gzip: return "gzip";
        case coding::zstd: return "zstd";
        case coding::identity: break;
    }
    return "identity";
}

coding best_of(const accepted_codings& accepted, bool has_gzip, bool has_zstd) noexcept {
    const int gzip = has_gzip ? accepted.gzip() : 0, zstd = has_zstd ? accepted.zstd() : 0;
    const int best = zstd > gzip ? zstd : gzip;
    if (best == 0 || best < accepted.identity().value_or(0)) return coding::identity;
    return zstd == best ? coding::zstd : coding::gzip;
}

}  // namespace weft::detail
