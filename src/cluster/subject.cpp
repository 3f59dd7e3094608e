#include "cluster/subject.hpp"

#include <algorithm>

#include <weft/cluster/error.hpp>

namespace weft::cluster::detail {
namespace {

constexpr std::size_t longest_name = 64, longest_claimed = 200;

std::string_view take_word(std::string_view& rest) noexcept {
    const auto dot = rest.find('.');
    const auto word = rest.substr(0, dot);
    rest = dot == std::string_view::npos ? std::string_view() : rest.substr(dot + 1);
    return word;
}

bool is_name_letter(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

}  // namespace

bool subject_matches(std::string_view pattern, std::string_view subject) noexcept {
    while (!pattern.empty() && !subject.empty()) {
        const auto wanted = take_word(pattern);
        if (wanted == ">") return true;
        const auto word = take_word(subject);
        if (wanted != "*" && wanted != word) return false;
    }
    return pattern.empty() && subject.empty();
}

void require_name(std::string_view what, std::string_view name) {
    if (!name.empty() && name.size() <= longest_name && std::ranges::all_of(name, is_name_letter)) return;
    throw error(errc::bad_name,
                "weft: the name of a " + std::string(what) + " has 1 to 64 letters, digits, '-' and '_', unlike '" +
                    std::string(name.substr(0, longest_name)) + "'",
                false);
}

void require_subject(std::string_view what, std::string_view name) {
    bool is_right = name.size() <= longest_name && !name.empty() && name.back() != '.';
    for (auto rest = name; is_right && !rest.empty();) {
        const auto word = take_word(rest);
        is_right = !word.empty() && std::ranges::all_of(word, is_name_letter);
    }
    if (is_right) return;
    throw error(errc::bad_name,
                "weft: the name of a " + std::string(what) + " has words of letters, digits, '-' and '_' with dots between " +
                    "them, 64 letters at most, unlike '" + std::string(name.substr(0, longest_name)) + "'",
                false);
}

void require_long_name(std::string_view name) {
    const auto is_allowed = [](char c) { return is_name_letter(c) || c == '.' || c == '/'; };
    if (!name.empty() && name.size() <= longest_claimed && std::ranges::all_of(name, is_allowed)) return;
    throw error(errc::bad_name,
                "weft: a name has 1 to 200 letters, digits, '-', '_', '.' and '/', unlike '" +
                    std::string(name.substr(0, longest_claimed)) + "'",
                false);
}

std::string batch_subject(std::string_view cluster, std::string_view to, std::uint64_t incarnation, std::string_view from) {
    return "w." + std::string(cluster) + ".n." + std::string(to) + "." + std::to_string(incarnation) + "." + std::string(from);
}

std::string find_subject(std::string_view cluster, std::string_view node) {
    return "w." + std::string(cluster) + ".f." + std::string(node);
}

std::string reply_subject(std::string_view cluster, std::string_view node, std::uint64_t incarnation) {
    return "w." + std::string(cluster) + ".r." + std::string(node) + "." + std::to_string(incarnation);
}

std::string group_subject(std::string_view cluster, std::string_view group) {
    return "w." + std::string(cluster) + ".g." + std::string(group);
}

std::string topic_subject(std::string_view cluster, std::string_view topic) {
    return "w." + std::string(cluster) + ".t." + std::string(topic);
}

std::string_view last_word(std::string_view subject) noexcept { return subject.substr(subject.rfind('.') + 1); }

}  // namespace weft::cluster::detail
