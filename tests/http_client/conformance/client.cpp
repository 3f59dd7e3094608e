// client.cpp - conformance_http_client: asks as it is told, and prints one line of JSON for each answer. `--help` lists its words.
#include <atomic>
#include <charconv>
#include <chrono>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <weft/http/client.hpp>
#include <weft/net/tls.hpp>
#include <weft/weft.hpp>

namespace {

using namespace weft;

constexpr const char* help =
    "conformance_http_client [METHOD] URL... [words]: asks for each URL in turn, with one client\n"
    "  --body TEXT, --body-file FILE   the body; --stream sends it by pieces of 1000 bytes, --continue asks before that\n"
    "  --header 'Name: value'          repeatable\n"
    "  --proxy URL                     for http:// and https://\n"
    "  --ca FILE                       the authority that is trusted\n"
    "  --redirects N, --timeout MS, --most BYTES, --raw (bodies as they are sent), --no-keep\n"
    "  --times N, --fibers N           asks for all N times, by so many fibers; prints how many answers had each status\n";

struct words {
    std::string method = "GET";
    std::vector<std::string> urls;
    std::optional<std::string> body;
    http::client_options client;
    http::request_options each;
    bool streams = false, waits = false;
    int times = 0, fibers = 1;
    std::optional<std::string> ca;
};

std::string content_of(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

words parse(int argc, char** argv) {
    words w;
    for (int i = 1; i < argc; ++i) {
        const std::string_view word = argv[i];
        const auto value = [&]() -> std::string {
            return i + 1 < argc ? argv[++i] : throw std::invalid_argument(std::string(word) + " needs a value");
        };
        if (word == "--body")
            w.body = value();
        else if (word == "--body-file")
            w.body = content_of(value());
        else if (word == "--stream")
            w.streams = true;
        else if (word == "--continue")
            w.waits = true;
        else if (word == "--header") {
            const auto field = value();
            w.each.headers.add(field.substr(0, field.find(':')), field.substr(field.find(':') + 2));
        } else if (word == "--proxy")
            w.client.proxy.http = w.client.proxy.https = value();
        else if (word == "--ca")
            w.ca = value();
        else if (word == "--redirects")
            w.each.redirects = static_cast<unsigned>(std::stoul(value()));
        else if (word == "--timeout")
            w.each.timeout = std::chrono::milliseconds(std::stoul(value()));
        else if (word == "--most")
            w.each.max_body_bytes = std::stoul(value());
        else if (word == "--raw")
            w.client.decompress = false;
        else if (word == "--no-keep")
            w.client.idle_per_host = 0;
        else if (word == "--times")
            w.times = std::stoi(value());
        else if (word == "--fibers")
            w.fibers = std::stoi(value());
        else if (word.starts_with("--"))
            throw std::invalid_argument("what is " + std::string(word) + "?");
        else if (word.find("://") == word.npos && w.urls.empty())
            w.method = word;
        else
            w.urls.emplace_back(word);
    }
    return w;
}

http::answer ask(http::client& client, const words& w, const std::string& url) {
    if (!w.streams) return client.send(w.method, url, w.body ? std::optional<std::string_view>(*w.body) : std::nullopt, w.each);
    auto t = client.open({.method = w.method,
                          .url = url,
                          .headers = w.each.headers,
                          .body = w.body ? http::chunked : http::body_size(),
                          .wait_for_continue = w.waits,
                          .timeout = w.each.timeout,
                          .redirects = w.each.redirects});
    if (w.body) {
        for (std::size_t at = 0; at < w.body->size(); at += 1000)
            if (!t.write(std::string_view(*w.body).substr(at, 1000))) break;
        t.finish();
    }
    http::answer a = t.head();
    a.body = t.read_all();
    return a;
}

nlohmann::json described(const http::answer& a) {
    nlohmann::json fields = nlohmann::json::array();
    for (const auto f : a.headers) fields.push_back({f.name, f.value});
    std::string hex;
    for (const char c : a.body) {
        constexpr std::string_view digits = "0123456789abcdef";
        hex.push_back(digits[static_cast<unsigned char>(c) / 16]);
        hex.push_back(digits[static_cast<unsigned char>(c) % 16]);
    }
    return {{"status", a.status},       {"reason", a.reason}, {"url", a.url},
            {"redirects", a.redirects}, {"headers", fields},  {"hex", hex}};
}

void ask_all(http::client& client, const words& w) {
    for (const auto& url : w.urls) {
        nlohmann::json line;
        try {
            line = described(ask(client, w, url));
        } catch (const http::client_error& e) {
            line = {{"error", e.what()}, {"code", e.code().message()}, {"sent", e.was_sent()}};
        }
        line["idle"] = client.connections().idle;
        std::cout << line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << std::endl;
    }
}

void ask_often(http::client& client, const words& w) {
    std::atomic<int> left{w.times};
    weft::mutex lock;
    nlohmann::json counts = nlohmann::json::object();
    with_scope([&](scope& all) {
        for (int f = 0; f < w.fibers; ++f)
            all.spawn([&] {
                while (left-- > 0)
                    for (const auto& url : w.urls) {
                        std::string result;
                        try {
                            const auto a = ask(client, w, url);
                            result = std::to_string(a.status) + " " + std::to_string(a.body.size());
                        } catch (const http::client_error& e) {
                            result = e.what();
                        }
                        const std::lock_guard guard(lock);
                        counts[result] = counts.value(result, 0) + 1;
                    }
            });
    });
    std::cout << counts.dump() << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc > 1 && std::string_view(argv[1]) == "--help") {
        std::cout << help;
        return 0;
    }
    words w;
    try {
        w = parse(argc, argv);
        if (w.urls.empty()) throw std::invalid_argument("there is no URL");
    } catch (const std::exception& wrong) {
        std::cerr << "conformance_http_client: " << wrong.what() << '\n';
        return 2;
    }
    weft::run([&] {
        const weft::tls::context trusted(w.ca ? weft::tls::context_options{.ca = *w.ca} : weft::tls::context_options{});
        w.client.tls = &trusted;
        http::client client(w.client);
        if (w.times > 0)
            ask_often(client, w);
        else
            ask_all(client, w);
    });
}
