#include <weft/http/client_error.hpp>

namespace weft::http {

const std::error_category& client_error_category() noexcept {
    class category final : public std::error_category {
    public:
        const char* name() const noexcept override { return "weft.http.client"; }
        std::string message(int code) const override {
            switch (static_cast<client_errc>(code)) {
                case client_errc::bad_url: return "bad URL";
                case client_errc::no_tls: return "https needs client_options::tls";
                case client_errc::bad_answer: return "the answer breaks a rule of HTTP/1";
                case client_errc::closed_early: return "the connection ended before the answer did";
                case client_errc::head_too_large: return "the head of the answer is too large";
                case client_errc::body_too_large: return "the body of the answer is too large";
                case client_errc::bad_encoding: return "the body is not what Content-Encoding says";
                case client_errc::too_many_redirects: return "too many redirects";
                case client_errc::bad_redirect: return "bad redirect";
                case client_errc::proxy_refused: return "the proxy does not connect to the server";
                case client_errc::bad_body: return "the body of the request has another length than was announced";
            }
            return "unknown error " + std::to_string(code);
        }
    };
    static const category the_one;
    return the_one;
}

}  // namespace weft::http
