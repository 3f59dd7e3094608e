// proxy_test.cpp - TLS through a proxy that cuts the bytes into small pieces, or changes one bit of them. Prints its seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <sstream>
#include <string>

#include <weft/deadline.hpp>
#include <weft/mutex.hpp>
#include <weft/net/tls.hpp>
#include <weft/scope.hpp>

#include "support/no_leaks.hpp"
#include "support/random.hpp"
#include "support/scale.hpp"
#include "tls/support/both_ends.hpp"
#include "tls/support/meddler.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

/// How an exchange has ended for one end.
struct outcome {
    std::error_code error;
    std::string received;
};

std::string random_text(std::minstd_rand& random, std::size_t size) {
    std::string text(size, '\0');
    for (auto& c : text) c = static_cast<char>(random());
    return text;
}

std::string up_to_the_end(tls::stream& from, std::error_code& error) {
    std::string text;
    std::array<std::byte, 1000> piece;
    while (const auto n = from.read_some(piece, error)) text.append(reinterpret_cast<const char*>(piece.data()), n);
    return text;
}

class tls_proxy : public no_leaks {
protected:
    /// The client sends a question and its end, then the server an answer and its end. Each end has `patience` for all of it.
    std::pair<outcome, outcome> exchange(const meddling& to_server, const meddling& to_client, const std::string& question,
                                         const std::string& answer, std::chrono::nanoseconds patience) {
        outcome asked, served;
        through_a_proxy(to_server, to_client, [&](tcp::stream near, tcp::stream far) {
            auto serving = spawn([&, below = std::move(far)]() mutable { served = serve(std::move(below), answer, patience); });
            asked = ask(std::move(near), question, patience);
            serving.join();
        });
        return {asked, served};
    }

    const tls::context server_{server_options()};
    const tls::context client_{client_options()};

private:
    template <class F>
    static outcome within(std::chrono::nanoseconds patience, F&& f) {
        outcome o;
        try {
            with_timeout(patience, [&] { f(o); });
        } catch (const std::system_error& e) {
            o.error = e.code();
        }
        return o;
    }

    outcome ask(tcp::stream below, const std::string& question, std::chrono::nanoseconds patience) {
        return within(patience, [&](outcome& o) {
            auto c = tls::stream::connect(std::move(below), client_, {.server_name = "localhost"}, o.error);
            if (!o.error) c.write_all(question, o.error);
            if (!o.error) c.shutdown(io::side::send, o.error);
            if (!o.error) o.received = up_to_the_end(c, o.error);
        });
    }
    outcome serve(tcp::stream below, const std::string& answer, std::chrono::nanoseconds patience) {
        return within(patience, [&](outcome& o) {
            auto s = tls::stream::accept(std::move(below), server_, o.error);
            if (!o.error) o.received = up_to_the_end(s, o.error);
            if (!o.error) s.write_all(answer, o.error);
            if (!o.error) s.shutdown(io::side::send, o.error);
        });
    }
};

TEST_F(tls_proxy, pieces_of_a_few_bytes_are_whole_streams) {
    const seed s;
    watched_runtime rt(2);
    rt.run([&] {
        for (unsigned i = 0; i < 6; ++i) {
            auto random = s.of(i);
            const auto question = random_text(random, 5000 + i * 4001), answer = random_text(random, 30000 + i);
            const auto [asked, served] =
                exchange(in_small_pieces(s.of(100 + i)), in_small_pieces(s.of(200 + i)), question, answer, 20s);
            EXPECT_FALSE(asked.error) << asked.error.message();
            EXPECT_FALSE(served.error) << served.error.message();
            EXPECT_TRUE(served.received == question);
            EXPECT_TRUE(asked.received == answer);
        }
    });
}

/// The errors of the connection below that an end may see when the other has given up.
bool is_of_the_connection(const std::error_code& e) {
    return e == std::errc::connection_reset || e == std::errc::broken_pipe || e == std::errc::connection_aborted ||
           e == std::errc::timed_out;
}

/// The errors that an exchange may end with when one bit of it was changed: those of TLS, and what the other end sees of the one that has given up.
/// The change of a length may leave both ends waiting, as bytes that are lost would, until their time is over.
bool is_named(const std::error_code& e) { return e.category() == tls::error_category() || is_of_the_connection(e); }

TEST_F(tls_proxy, a_changed_bit_is_a_named_error_and_never_other_data) {
    const seed s;
    auto random = s.of(0);
    const auto question = random_text(random, 3000), answer = random_text(random, 5000);
    watched_runtime rt(2);
    rt.run([&] {
        std::size_t to_server = 0, to_client = 0;
        const auto counting = [](std::size_t& sum) {
            return [&sum](std::span<std::byte> bytes, tcp::stream& to, std::error_code& error) {
                sum += bytes.size();
                pass_on(bytes, to, error);
            };
        };
        const auto [asked, served] = exchange(counting(to_server), counting(to_client), question, answer, 20s);
        ASSERT_FALSE(asked.error || served.error) << asked.error.message() << ", " << served.error.message();

        std::map<std::string, int> ends;
        weft::mutex guard;
        const auto one = [&](unsigned i) {
            auto mine = s.of(1 + i);
            const bool up = below(mine, 2) == 0;
            const std::size_t place = below(mine, static_cast<unsigned>(up ? to_server : to_client));
            flips_a_bit flip(place, below(mine, 8));
            const meddling changed = std::ref(flip), unchanged = pass_on;
            const auto [a, b] = exchange(up ? changed : unchanged, up ? unchanged : changed, question, answer, 2s);
            std::ostringstream described;
            described << (up ? "to the server" : "to the client") << ", byte " << place << ", " << flip.flipped_at().value_or(0)
                      << " of its record, attempt " << i;
            const auto where = described.str();
            EXPECT_TRUE(question.starts_with(b.received) && answer.starts_with(a.received)) << "wrong data: " << where;
            const std::lock_guard held(guard);
            for (const auto& e : {a.error, b.error}) {
                EXPECT_TRUE(!e || is_named(e)) << e.category().name() << ", " << e.message() << ": " << where;
                if (e) ++ends[e.message()];
            }
            if (!a.error && !b.error) {
                // Only the version in a record's header, which TLS 1.3 says to ignore, is protected by nothing.
                const auto at = flip.flipped_at();
                EXPECT_TRUE(!at || *at == 1 || *at == 2) << "nobody has seen the change: " << where;
                EXPECT_TRUE(b.received == question && a.received == answer) << where;
                ++ends["none"];
            }
        };
        with_scope([&](scope& all) {
            constexpr unsigned at_once = 8;
            for (unsigned first = 0; first < at_once; ++first) {
                all.spawn([&, first] {
                    for (unsigned i = first; i < static_cast<unsigned>(scaled(400)); i += at_once) one(i);
                });
            }
        });
        for (const auto& [words, number] : ends) std::printf("%5d  %s\n", number, words.c_str());
        EXPECT_GT(ends[make_error_code(tls::errc::broken).message()], 0);
    });
}

}  // namespace
}  // namespace weft::test
