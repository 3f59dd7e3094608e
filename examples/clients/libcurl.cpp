#include <curl/curl.h>

#include "libraries.hpp"

namespace clients {

namespace {

std::size_t append(char* data, std::size_t size, std::size_t n, void* to) {
    static_cast<std::string*>(to)->append(data, size * n);
    return size * n;
}

CURL* make_handle() {
    [[maybe_unused]] static const CURLcode once = ::curl_global_init(CURL_GLOBAL_ALL);
    CURL* const made = ::curl_easy_init();
    if (!made) throw failure("libcurl: no memory");
    return made;
}

}  // namespace

libcurl_connection::libcurl_connection(std::string url) : url_(std::move(url)), handle_(make_handle()) {
    ::curl_easy_setopt(handle_, CURLOPT_NOSIGNAL, 1L);  // signals are for threads
    ::curl_easy_setopt(handle_, CURLOPT_WRITEFUNCTION, &append);
}

libcurl_connection::~libcurl_connection() { ::curl_easy_cleanup(handle_); }

std::string libcurl_connection::ask(int number) {
    std::string url = url_;
    if (const auto at = url.find("%d"); at != std::string::npos) url.replace(at, 2, std::to_string(number));
    auto found = fetch(url, "GET", {});
    if (found.status >= 400) throw failure("libcurl: the server has answered " + std::to_string(found.status));
    return std::move(found.text);
}

libcurl_connection::page libcurl_connection::request(const char* method, const std::string& path, const std::string& body) {
    return fetch(url_ + path, method, body);
}

std::string libcurl_connection::escaped(std::string_view text) {
    const std::unique_ptr<char, void (*)(void*)> made(::curl_easy_escape(handle_, text.data(), static_cast<int>(text.size())),
                                                      ::curl_free);
    if (!made) throw failure("libcurl: no memory");
    return made.get();
}

libcurl_connection::page libcurl_connection::fetch(const std::string& url, const char* method, const std::string& body) {
    page found;
    ::curl_easy_setopt(handle_, CURLOPT_URL, url.c_str());
    ::curl_easy_setopt(handle_, CURLOPT_WRITEDATA, &found.text);
    if (body.empty()) {
        ::curl_easy_setopt(handle_, CURLOPT_HTTPGET, 1L);  // no body
    } else {
        ::curl_easy_setopt(handle_, CURLOPT_POSTFIELDSIZE, static_cast<long>(body.size()));
        ::curl_easy_setopt(handle_, CURLOPT_COPYPOSTFIELDS, body.data());
    }
    ::curl_easy_setopt(handle_, CURLOPT_CUSTOMREQUEST, method);
    if (const CURLcode failed = ::curl_easy_perform(handle_))
        throw failure(std::string("libcurl: ") + ::curl_easy_strerror(failed));
    ::curl_easy_getinfo(handle_, CURLINFO_RESPONSE_CODE, &found.status);
    return found;
}

}  // namespace clients
