// connection.hpp - a connection to a server, by a client library that was written for threads.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>

namespace clients {

/// What a library says of a call that has failed. Its connection is of no more use.
struct failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class connection {
public:
    virtual ~connection() = default;
    /// Asks the server for this number. \returns its answer. \throws failure
    virtual std::string ask(int number) = 0;
};

/// \param url  redis://host:port, postgres://user:password@host:port/database,
///             mysql://user:password@host:port/database, http://... or
///        https://...; a request for the number 7 goes to what stands for %d in it, if that is there.
/// \throws failure; std::invalid_argument: there is no such scheme, or the rest of the URL is wrong
std::unique_ptr<connection> connect(const std::string& url);

/// Whether connect() would understand the URL. \throws std::invalid_argument if not
void check(const std::string& url);

/// Whether such an answer is to that question. A page is no answer to a number, so each that came is right.
bool answers(const std::string& url, const std::string& answer, int number);

}  // namespace clients
