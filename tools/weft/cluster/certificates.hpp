// certificates.hpp - an authority of a cluster's own, and the certificates that it signs.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace cluster {

/// PEM texts.
struct issued {
    std::string certificate, key;
};

struct certificate_wish {
    std::string name;                     ///< a common name; for a client, the name of its organisational unit (OU)
    std::vector<std::string> hosts = {};  ///< names and addresses of a server; empty: a client's
    int days = 365;
};

class authority {
public:
    /// Makes a key and a certificate for it. \throws std::runtime_error
    authority(const std::string& name, int days);
    ~authority();
    authority(const authority&) = delete;
    authority& operator=(const authority&) = delete;

    [[nodiscard]] const issued& pem() const;
    /// A server's is a client's, too: etcd's gateway is a client of its own server. And that gateway refuses
    /// clients that have a common name once there are users, so clients are known by OU=NAME.
    /// \throws std::runtime_error; std::invalid_argument for a host that cannot be one
    [[nodiscard]] issued issue(const certificate_wish&) const;

private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace cluster
