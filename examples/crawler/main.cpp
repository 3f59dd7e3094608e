// main.cpp - crawler [URL [PAGES]]: walks the pages of one site, many at a time, and says what it found.
//
// Without a URL it walks a site of its own.
#include <charconv>
#include <chrono>
#include <iostream>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <weft/weft.hpp>

#include <weft/http/client.hpp>

#include "links.hpp"
#include "site.hpp"

namespace {

/// The pages of one server, each asked for once, by a fiber of its own.
class crawl {
public:
    crawl(weft::http::client& client, std::string origin, std::size_t most)
        : client_(client), origin_(std::move(origin)), most_(most) {}

    /// Returns when every page that can be reached was asked for, or as many as wanted.
    void from(const std::string& url) {
        weft::with_scope([&](weft::scope& all) { visit(all, url); });
    }

    void report(std::ostream& to) const {
        for (const auto& [what, count] : results_) to << what << ": " << count << '\n';
    }

private:
    void visit(weft::scope& all, const std::string& url) {
        {
            const std::lock_guard guard(lock_);
            if (seen_.size() == most_ || !seen_.insert(url).second) return;
        }
        all.spawn([this, &all, url] { ask(all, url); });
    }

    void ask(weft::scope& all, const std::string& url) {
        try {
            const auto page = client_.get(url);
            count(std::to_string(page.status));
            if (!page.ok() || !page.url.starts_with(origin_)) return;
            for (const auto& link : links_of(page.body))
                if (const auto to = same_site(page.url, link)) visit(all, *to);
        } catch (const weft::http::client_error& e) {
            count(e.code().message());
        }
    }

    /// Where a link of a page leads, if that is on the site. Only paths and whole URLs are understood.
    std::optional<std::string> same_site(const std::string& page, std::string link) const {
        link.resize(std::min(link.find('#'), link.size()));
        if (link.empty() || link.starts_with("//")) return {};
        if (link.find(':') != link.npos) return link.starts_with(origin_) ? std::optional(link) : std::nullopt;
        if (link.starts_with('/')) return origin_ + link.substr(1);
        return page.substr(0, page.rfind('/') + 1) + link;
    }

    void count(const std::string& result) {
        const std::lock_guard guard(lock_);
        ++results_[result];
    }

    weft::http::client& client_;
    const std::string origin_;  // "http://host/"
    const std::size_t most_;
    weft::mutex lock_;
    std::set<std::string> seen_;
    std::map<std::string, int> results_;
};

int usage() {
    std::cerr << "crawler: usage: crawler [http://HOST[:PORT]/PATH [PAGES]]\n";
    return 2;
}

}  // namespace

int main(int argc, char** argv) {
    std::size_t most = 10000;
    const std::string_view pages = argc == 3 ? argv[2] : "10000";
    const auto [end, bad] = std::from_chars(pages.data(), pages.data() + pages.size(), most);
    if (argc > 3 || bad != std::errc{} || end != pages.data() + pages.size() || most == 0) return usage();
    std::optional<std::string> given;
    if (argc > 1) given = argv[1];
    constexpr std::string_view scheme = "http://";
    if (given && !given->starts_with(scheme)) return usage();
    if (given && given->find('/', scheme.size()) == given->npos) *given += '/';

    weft::run([&] {
        std::optional<site> own;
        if (!given) own.emplace();
        const auto start = given ? *given : own->url();
        weft::http::client client({.most_per_host = 32, .timeout = std::chrono::seconds(30), .max_body_bytes = 10'000'000});
        crawl walk(client, start.substr(0, start.find('/', scheme.size()) + 1), most);
        const auto begin = std::chrono::steady_clock::now();
        walk.from(start);
        walk.report(std::cout);
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
        std::cerr << "in " << took.count() << " s\n";
    });
}
