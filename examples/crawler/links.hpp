// links.hpp - the places to which a page of HTML leads.
#pragma once

#include <string>
#include <string_view>
#include <vector>

/// The values of the page's href attributes, as they are written. It looks for the attribute and nothing else, which is
/// enough to walk a site; a program that has to understand pages takes a parser of HTML.
inline std::vector<std::string> links_of(std::string_view page) {
    std::vector<std::string> links;
    constexpr std::string_view attribute = "href=";
    for (auto at = page.find(attribute); at != page.npos; at = page.find(attribute, at)) {
        at += attribute.size();
        if (at == page.size() || (page[at] != '"' && page[at] != '\'')) continue;
        const auto end = page.find(page[at], at + 1);
        if (end == page.npos) break;
        links.emplace_back(page.substr(at + 1, end - at - 1));
        at = end;
    }
    return links;
}
