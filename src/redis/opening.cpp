// opening.cpp - opens a connection to a server and logs in.
#include "redis/opening.hpp"

#include <array>
#include <new>
#include <optional>
#include <stdexcept>
#include <vector>

#include <weft/deadline.hpp>
#include <weft/net/tcp.hpp>
#include <weft/net/unix.hpp>
#include <weft/stop.hpp>

namespace weft::detail::redis {

namespace {

using weft::redis::argument;

constexpr const char* hello = "HELLO";

/// The commands that begin a connection.
class login {
public:
    login(const server_url& url, resp protocol) {
        if (!url.password.empty()) {
            if (url.user.empty())
                add("AUTH", std::array<argument, 2>{"AUTH", url.password});
            else
                add("AUTH", std::array<argument, 3>{"AUTH", url.user, url.password});
        }
        if (protocol == resp::three) add(hello, std::array<argument, 2>{"HELLO", 3});
        if (url.database != 0) add("SELECT", std::array<argument, 2>{"SELECT", url.database});
    }

    void run(io::byte_stream& stream, decoder& replies) const {
        stream.write_all(bytes_);
        for (const char* name : names_) await(name, stream, replies);
    }

private:
    void add(const char* name, std::span<const argument> words) {
        names_.push_back(name);
        append_command(bytes_, words);
    }

    static void await(const char* name, io::byte_stream& stream, decoder& replies) {
        std::array<std::byte, 1024> buffer;
        std::optional<weft::redis::value> reply;
        while (!(reply = replies.next())) {
            const auto n = stream.read_some(buffer);
            if (n == 0) throw std::runtime_error(std::string(name) + ": closed by the server");
            replies.feed(std::span(buffer).first(n));
        }
        if (const auto* refused = std::get_if<weft::redis::error_reply>(&reply->content()))
            throw std::runtime_error(std::string(name) + ": " + refused->text +
                                     (name == hello && refused->text.find("unknown command") != std::string::npos
                                          ? " (a server before Redis 6 needs client_options::protocol 2)"
                                          : ""));
    }

    std::string bytes_;
    std::vector<const char*> names_;
};

/// The system probes a peer that is silent while nothing is due, such as one at which a command
/// blocks.
io::byte_stream connect_tcp(const net::endpoint& server, std::chrono::nanoseconds silence) {
    auto stream = tcp::stream::connect(server);
    std::error_code ignored;
    if (silence > std::chrono::nanoseconds::zero() && silence != forever) stream.set_keep_alive(silence, ignored);
    return stream;
}

io::byte_stream connect(const settings& of) {
    if (!of.url.path.empty())
        return of.options.connect ? of.options.connect({.host = of.url.path, .port = 0})
                                  : unix_socket::stream::connect({.path = of.url.path});
    const net::endpoint server{.host = of.url.host, .port = of.url.port};
    auto stream = of.options.connect ? of.options.connect(server) : connect_tcp(server, of.options.silence_timeout);
    return of.url.tls ? of.options.tls->connect_over(std::move(stream), of.url.host) : std::move(stream);
}

}  // namespace

resp settings::checked_protocol(int number) {
    if (number != 2 && number != 3)
        throw std::invalid_argument("redis: client_options::protocol is " + std::to_string(number) + "; it must be 2 or 3");
    if (number == 3) require_resp3();
    return static_cast<resp>(number);
}

io::byte_stream open_stream(const settings& of, decoder& replies, resp protocol) {
    return with_timeout(of.options.connect_timeout, [&] {
        auto stream = connect(of);
        login(of.url, protocol).run(stream, replies);
        return stream;
    });
}

std::string reason_of_current_exception() {
    try {
        throw;
    } catch (const timeout_error&) {
        return "no answer in time";
    } catch (const std::system_error& failure) {
        return failure.code().message();
    } catch (const std::bad_alloc&) {
        return "out of memory";
    } catch (const std::exception& failure) {
        return failure.what();
    } catch (const cancelled&) {
        throw;
    } catch (...) {
        return "an exception that is no std::exception";
    }
}

}  // namespace weft::detail::redis
