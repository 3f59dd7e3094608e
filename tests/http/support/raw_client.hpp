// raw_client.hpp - the other end of an HTTP connection: a blocking socket of a plain thread that sends whatever it is told.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft::test {

struct raw_response {
    int status = 0;                        // 0: the connection ended before a whole head
    std::string head;                      // with status line, without the empty line
    std::string body;

    /// The value of a header, by its exact name; empty if it is not there.
    std::string header(std::string_view name) const;
};

/// Every wait is bounded by five seconds; then what was received so far is returned.
class raw_client {
public:
    struct options {
        int receive_buffer = 0;            // of the socket, in bytes; 0: the system's
    };

    explicit raw_client(std::uint16_t port) : raw_client(port, options{}) {}
    raw_client(std::uint16_t port, options o);
    ~raw_client();
    raw_client(raw_client&& other) noexcept;
    raw_client& operator=(raw_client&&) = delete;

    /// \returns  whether the socket took it all.
    bool send(std::string_view bytes);

    /// \returns  the next response; `body_follows` is false for the answer to HEAD.
    raw_response receive(bool body_follows = true);

    /// Reads ahead, in pieces with a pause after each, until receive() has `size` bytes to begin with.
    ///
    /// \returns  whether so many have come.
    bool read_slowly(std::size_t size, std::size_t piece, std::chrono::microseconds pause);

    /// Everything up to the end of the connection.
    std::string receive_to_end();

    /// \returns  whether a byte comes.
    bool receives_something();

    /// Reads to the end. \returns  whether that is a reset.
    bool ends_by_reset();

    /// send() and receive().
    raw_response ask(std::string_view bytes);

    /// \returns  whether the server has closed in good order: end of stream, no bytes before it, no reset.
    bool ended();

    /// \returns  whether nothing arrives for so many milliseconds and the connection stays.
    bool silent_for(int milliseconds);

    void half_close();                     // no more from us; we still read
    void reset();                          // as a client that crashes

private:
    bool receive_chunks(std::string& body);
    bool fill(std::size_t most = 65536);   // at least one more byte

    int fd_;
    std::string received_;
};

/// "GET <target>" as a whole request of HTTP/1.1.
std::string get(std::string_view target);

}  // namespace weft::test
