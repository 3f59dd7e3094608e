// libcurl_test.cpp - libcurl's easy interface in fibers: http and https, with a server of the test's own.
#include <arpa/inet.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>
#include <memory>

#include "clients/support/contract.hpp"
#include "redis/support/redis_server.hpp"

namespace weft::test {
namespace {

enum class scheme { http, https };

template <scheme How>
struct libcurl_client {
    static constexpr const char* library = "libcurl";

    class server {
    public:
        server() {
            make_certificate(folder_ / "key.pem", certificate());
            start();
        }
        void start() {
            process_.start([this] { return !is_free(port_) && !is_free(tls_port_); });
        }
        void kill() { process_.kill(); }

        std::string certificate() const { return folder_ / "certificate.pem"; }
        /// https by name, so that the library looks the name up, too.
        std::string url(const std::string& path) const {
            return How == scheme::https ? "https://localhost:" + std::to_string(tls_port_) + path
                                        : "http://127.0.0.1:" + std::to_string(port_) + path;
        }

    private:
        const working_folder folder_{run_as::the_same_user};
        const std::uint16_t port_ = free_port(), tls_port_ = free_port();
        server_process process_{
            {WEFT_PYTHON, WEFT_ECHO_SERVER, std::to_string(port_), std::to_string(tls_port_), certificate(), folder_ / "key.pem"},
            folder_ / "server.log"};
    };

    class connection {
    public:
        explicit connection(const server& to)
            : server_(to), handle_(::curl_easy_init(), ::curl_easy_cleanup), headers_(nullptr, ::curl_slist_free_all) {
            if (!handle_) throw call_failed("no memory");
            headers_.reset(::curl_slist_append(nullptr, "Expect:"));
            set(CURLOPT_NOSIGNAL, 1L);
            set(CURLOPT_CAINFO, certificate_.c_str());
            set(CURLOPT_HTTPHEADER, headers_.get());
            set(CURLOPT_WRITEFUNCTION, &keep);
            set(CURLOPT_WRITEDATA, &answer_);
            set(CURLOPT_PROXY, "");
            echo(0, "");  // opens the connection
        }
        std::string echo(long number, std::string_view text) {
            const std::string body = std::to_string(number) + ' ' + std::string(text);
            set(CURLOPT_POSTFIELDSIZE, static_cast<long>(body.size()));
            set(CURLOPT_POSTFIELDS, body.c_str());
            expect(200, "/echo");
            return answer_;
        }
        std::string refusal(long number) {
            set(CURLOPT_HTTPGET, 1L);
            expect(404, "/refused/" + std::to_string(number));
            return answer_;
        }
        void wait_long() {
            set(CURLOPT_HTTPGET, 1L);
            perform("/never");
        }

    private:
        static std::size_t keep(char* data, std::size_t size, std::size_t n, void* answer) {
            static_cast<std::string*>(answer)->append(data, size * n);
            return size * n;
        }
        template <class Value>
        void set(CURLoption option, Value value) {
            if (const CURLcode failed = ::curl_easy_setopt(handle_.get(), option, value))
                throw call_failed(::curl_easy_strerror(failed));
        }
        void perform(const std::string& path) {
            answer_.clear();
            set(CURLOPT_URL, server_.url(path).c_str());
            if (const CURLcode failed = ::curl_easy_perform(handle_.get())) {
                long error = 0;
                ::curl_easy_getinfo(handle_.get(), CURLINFO_OS_ERRNO, &error);
                throw call_failed(std::string(::curl_easy_strerror(failed)) + ", " + std::strerror(static_cast<int>(error)));
            }
        }
        void expect(long status, const std::string& path) {
            perform(path);
            long found = 0;
            ::curl_easy_getinfo(handle_.get(), CURLINFO_RESPONSE_CODE, &found);
            if (found != status) throw call_failed("status " + std::to_string(found));
        }

        const server& server_;
        const std::string certificate_ = server_.certificate();
        std::string answer_;
        std::unique_ptr<CURL, void (*)(CURL*)> handle_;
        std::unique_ptr<curl_slist, void (*)(curl_slist*)> headers_;
    };

    static std::string refusal_of(long number) { return "there is no " + std::to_string(number); }
    static std::string interruption(int) { return ::curl_easy_strerror(CURLE_BAD_FUNCTION_ARGUMENT); }  // of any error of poll()
};

/// What the library does once for a process, before its first thread.
class library_life : public testing::Environment {
    void SetUp() override { ASSERT_EQ(::curl_global_init(CURL_GLOBAL_ALL), CURLE_OK); }
    void TearDown() override { ::curl_global_cleanup(); }
};
[[maybe_unused]] const auto* const life = testing::AddGlobalTestEnvironment(new library_life);

INSTANTIATE_TYPED_TEST_SUITE_P(libcurl_http, clients, libcurl_client<scheme::http>);
INSTANTIATE_TYPED_TEST_SUITE_P(libcurl_https, clients, libcurl_client<scheme::https>);

#ifdef WEFT_CLIENTS_EXAMPLE
TEST(libcurl_example, asks_the_server) {
    const libcurl_client<scheme::http>::server server;
    expect_example_to_ask(server.url("/echo?%d"));
}
#endif

}  // namespace
}  // namespace weft::test
