// certificates.hpp - authorities and certificates for tests of TLS, made by the tests themselves.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace weft::test {

/// PEM texts.
struct identity {
    std::string certificate, key;
};

struct certificate_request {
    std::vector<std::string> names = {"localhost", "127.0.0.1"};  // addresses as well
    std::string common_name = "weft test";
    std::chrono::hours begins = std::chrono::hours(-1), ends = std::chrono::hours(24);  // from now
    bool rsa = false;  // else a key on an elliptic curve
};

/// Signs certificates. An authority's own certificate is signed by itself.
class authority {
public:
    explicit authority(const std::string& name = "weft test authority");

    const std::string& certificate() const { return own_.certificate; }
    identity issue(const certificate_request& q = {}) const;
    /// A list that revokes one certificate, in PEM.
    std::string revoke(const std::string& certificate) const;

private:
    identity own_;
};

/// A certificate that no authority has signed.
identity self_signed(const certificate_request& q = {});

}  // namespace weft::test
