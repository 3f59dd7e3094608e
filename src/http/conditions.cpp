// conditions.cpp - dates, entity tags and ranges.
#include "http/conditions.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <string>

#include "http/ascii.hpp"
#include "http/field_list.hpp"

namespace weft::detail {
namespace {

std::string_view take_word(std::string_view& text) noexcept {
    constexpr std::string_view separators = " ,-";
    text.remove_prefix(std::min(text.find_first_not_of(separators), text.size()));
    const auto word = text.substr(0, text.find_first_of(separators));
    text.remove_prefix(word.size());
    return word;
}

/// A number of at most four digits, or -1.
int small_number(std::string_view digits) noexcept {
    int n = -1;
    if (digits.empty() || digits.size() > 4 || !std::all_of(digits.begin(), digits.end(), is_digit)) return -1;
    std::from_chars(digits.data(), digits.data() + digits.size(), n);
    return n;
}

int month_of(std::string_view name) noexcept {
    static constexpr std::array<std::string_view, 12> months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                             "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    const auto found = std::find(months.begin(), months.end(), name);
    return found == months.end() ? -1 : static_cast<int>(found - months.begin());
}

/// A year of two digits is the one that is at most 50 years ahead.
int year_of(std::string_view digits) noexcept {
    const int year = small_number(digits);
    if (digits.size() == 4) return year;
    if (digits.size() != 2 || year < 0) return -1;
    std::tm today{};
    const auto now = std::time(nullptr);
    ::gmtime_r(&now, &today);
    const int this_year = today.tm_year + 1900, guess = this_year / 100 * 100 + year;
    return guess > this_year + 50 ? guess - 100 : guess;
}

bool set_time(std::tm& t, std::string_view clock) noexcept {
    if (clock.size() != 8 || clock[2] != ':' || clock[5] != ':') return false;
    t.tm_hour = small_number(clock.substr(0, 2));
    t.tm_min = small_number(clock.substr(3, 2));
    t.tm_sec = small_number(clock.substr(6, 2));
    return t.tm_hour >= 0 && t.tm_hour < 24 && t.tm_min >= 0 && t.tm_min < 60 && t.tm_sec >= 0 && t.tm_sec <= 60;
}

/// Takes an entity tag off a list, as it is written; empty at the end and where there is none. Tags
/// may contain commas.
std::string_view take_tag(std::string_view& list) noexcept {
    list.remove_prefix(std::min(list.find_first_not_of(" \t,"), list.size()));
    const auto open = list.starts_with("W/") ? 2u : 0u;
    if (list.substr(open, 1) != "\"") return {};
    const auto close = list.find('"', open + 1);
    if (close == list.npos) return {};
    const auto tag = list.substr(0, close + 1);
    list.remove_prefix(tag.size());
    return tag;
}

enum class comparison { strong, weak };

/// Whether a tag of the list is written in this way.
bool is_written(const http::headers& in, std::string_view field, std::string_view tag) {
    for (const auto [name, value] : in) {
        if (!equal_ignoring_case(name, field)) continue;
        auto rest = value;
        for (auto one = take_tag(rest); !one.empty(); one = take_tag(rest))
            if (one == tag) return true;
    }
    return false;
}

bool has_tag(const http::headers& in, std::string_view field, std::string_view etag, comparison how) {
    for (const auto [name, value] : in) {
        if (!equal_ignoring_case(name, field)) continue;
        if (trimmed(value) == "*") return true;
        auto rest = value;
        for (auto tag = take_tag(rest); !tag.empty(); tag = take_tag(rest)) {
            if (tag.starts_with("W/") && how == comparison::weak) tag.remove_prefix(2);
            if (tag == etag) return true;
        }
    }
    return false;
}

std::optional<std::time_t> date_in(const http::headers& in, std::string_view field) noexcept {
    const auto value = in.find(field);
    return value ? parsed_http_date(*value) : std::nullopt;
}

/// If-Range: a weak tag never fits, and a date only if the file has not changed again in its
/// second.
bool is_same_state(std::string_view condition, validators v, std::time_t now) noexcept {
    if (condition.find('"') != condition.npos) return condition == v.etag;
    return parsed_http_date(condition) == v.modified && v.modified < now - 1;
}

/// The digits up to `end`; what is too large for the type is its largest value.
std::optional<std::uint64_t> position(std::string_view digits) noexcept {
    if (digits.empty() || !std::all_of(digits.begin(), digits.end(), is_digit)) return std::nullopt;
    std::uint64_t n = 0;
    const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), n);
    return result.ec == std::errc::result_out_of_range ? std::numeric_limits<std::uint64_t>::max() : n;
}

}  // namespace

std::optional<std::time_t> parsed_http_date(std::string_view text) noexcept {
    take_word(text);  // the day of the week
    std::array<std::string_view, 4> words;
    for (auto& word : words) word = take_word(text);
    // asctime() has the month first, and the year last
    const bool day_first = month_of(words[1]) >= 0;
    const auto [day, month, clock, year] =
        day_first ? std::array{words[0], words[1], words[3], words[2]} : std::array{words[1], words[0], words[2], words[3]};
    if (day_first && take_word(text) != "GMT") return std::nullopt;
    std::tm t{};
    t.tm_mday = small_number(day);
    t.tm_mon = month_of(month);
    t.tm_year = year_of(year) - 1900;
    if (!take_word(text).empty() || t.tm_mon < 0 || t.tm_mday < 1 || t.tm_mday > 31 || t.tm_year < 0 || !set_time(t, clock))
        return std::nullopt;
    return ::timegm(&t);
}

outcome outcome_of(const http::headers& asked, validators v) {
    if (asked.contains("If-Match")) {
        if (!has_tag(asked, "If-Match", v.etag, comparison::strong)) return outcome::failed;
    } else if (const auto since = date_in(asked, "If-Unmodified-Since"); since && v.modified > *since) {
        return outcome::failed;
    }
    if (asked.contains("If-None-Match"))
        return has_tag(asked, "If-None-Match", v.etag, comparison::weak) ? outcome::not_modified : outcome::go_on;
    const auto since = date_in(asked, "If-Modified-Since");
    return since && v.modified <= *since ? outcome::not_modified : outcome::go_on;
}

bool has_weak_form_only(const http::headers& asked, std::string_view etag) {
    return !is_written(asked, "If-None-Match", etag) && is_written(asked, "If-None-Match", "W/" + std::string(etag));
}

std::variant<whole_file, byte_range, unsatisfiable> wanted_range(const http::headers& asked, validators v, std::uint64_t size,
                                                                 std::time_t now) {
    auto spec = trimmed(asked.find("Range").value_or(std::string_view{}));
    if (!equal_ignoring_case(take_until(spec, '='), "bytes") || spec.find(',') != spec.npos) return whole_file{};
    if (const auto condition = asked.find("If-Range"); condition && !is_same_state(*condition, v, now)) return whole_file{};
    const auto dash = spec.find('-');
    if (dash == spec.npos) return whole_file{};
    const auto left = trimmed(spec.substr(0, dash)), right = trimmed(spec.substr(dash + 1));
    const auto first = position(left), last = position(right);
    if ((!first && !left.empty()) || (!last && !right.empty()) || (!first && !last)) return whole_file{};
    if (!first) {
        if (*last == 0) return unsatisfiable{};
        if (size == 0) return whole_file{};  // Content-Range cannot say "nothing"
        const auto bytes = std::min(*last, size);
        return byte_range{size - bytes, bytes};
    }
    if (last && *last < *first) return whole_file{};
    if (*first >= size) return unsatisfiable{};
    return byte_range{*first, std::min(last.value_or(size - 1), size - 1) - *first + 1};
}

}  // namespace weft::detail
