// options.hpp - the command lines of the conformance programs: words of the form `--name value`, and what is left over.
#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <weft/tls/context.hpp>

namespace weft::conformance {

class options {
public:
    options(int argc, char** argv) {
        for (int i = 1; i < argc; ++i) {
            const std::string_view word = argv[i];
            if (!word.starts_with("--")) {
                rest_.emplace_back(word);
            } else if (i + 1 < argc) {
                named_[std::string(word.substr(2))] = argv[++i];
            } else {
                throw std::invalid_argument(std::string(word) + " needs a value");
            }
        }
    }

    std::string operator[](const std::string& name) const {
        const auto found = named_.find(name);
        return found == named_.end() ? std::string() : found->second;
    }
    int number(const std::string& name, int otherwise) const {
        const auto text = (*this)[name];
        return text.empty() ? otherwise : std::stoi(text);
    }
    const std::vector<std::string>& rest() const { return rest_; }

    /// What --certificate, --key, --ca, --peer, --alpn (with commas) and --least (1.2, 1.3) say.
    tls::context_options context() const {
        tls::context_options o{.certificate_chain = (*this)["certificate"], .private_key = (*this)["key"], .ca = (*this)["ca"]};
        const auto peer = (*this)["peer"];
        if (peer == "none") o.verify = tls::peer_check::none;
        if (peer == "optional") o.verify = tls::peer_check::optional;
        if (peer == "required") o.verify = tls::peer_check::required;
        std::string names = (*this)["alpn"];
        while (!names.empty()) {
            const auto end = names.find(',');
            o.alpn.push_back(names.substr(0, end));
            names = end == std::string::npos ? "" : names.substr(end + 1);
        }
        if ((*this)["least"] == "1.3") o.least = tls::version::tls1_3;
        return o;
    }

private:
    std::map<std::string, std::string> named_;
    std::vector<std::string> rest_;
};

/// What a handshake has agreed on, in one line.
inline std::string described(const auto& connection) {
    const auto peer = connection.peer();
    return std::string("version=") + (connection.version() == tls::version::tls1_3 ? "1.3" : "1.2") +
           " cipher=" + connection.cipher() + " resumed=" + (connection.resumed() ? "yes" : "no") + " alpn=" + connection.alpn() +
           " name=" + connection.server_name() + " peer=" + (peer ? peer->subject : std::string());
}

}  // namespace weft::conformance
