// libcurl.cpp - a GET, on a connection that is kept.
#include <curl/curl.h>

#include "libraries.hpp"

namespace clients {

namespace {

std::size_t append(char* data, std::size_t size, std::size_t n, void* to) {
    static_cast<std::string*>(to)->append(data, size * n);
    return size * n;
}

class by_libcurl final : public connection {
public:
    explicit by_libcurl(std::string url) : url_(std::move(url)), handle_(::curl_easy_init(), ::curl_easy_cleanup) {
        if (!handle_) throw failure("libcurl: no memory");
        ::curl_easy_setopt(handle_.get(), CURLOPT_NOSIGNAL, 1L);  // signals are for threads
        ::curl_easy_setopt(handle_.get(), CURLOPT_FAILONERROR, 1L);
        ::curl_easy_setopt(handle_.get(), CURLOPT_WRITEFUNCTION, &append);
    }
    std::string ask(int number) override {
        std::string url = url_, page;
        if (const auto at = url.find("%d"); at != std::string::npos) url.replace(at, 2, std::to_string(number));
        ::curl_easy_setopt(handle_.get(), CURLOPT_URL, url.c_str());
        ::curl_easy_setopt(handle_.get(), CURLOPT_WRITEDATA, &page);
        if (const CURLcode failed = ::curl_easy_perform(handle_.get()))
            throw failure(std::string("libcurl: ") + ::curl_easy_strerror(failed));
        return page;
    }

private:
    const std::string url_;
    std::unique_ptr<CURL, void (*)(CURL*)> handle_;
};

}  // namespace

std::unique_ptr<connection> connect_by_libcurl(const std::string& url) {
    [[maybe_unused]] static const CURLcode once = ::curl_global_init(CURL_GLOBAL_ALL);
    return std::make_unique<by_libcurl>(url);
}

}  // namespace clients
