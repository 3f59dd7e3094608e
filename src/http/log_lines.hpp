// log_lines.hpp - the forms of access log lines, appended to a text that has room for many.
#pragma once

#include <array>
#include <ctime>
#include <string>
#include <string_view>

#include <weft/http/log.hpp>

namespace weft::detail {

/// The text of a second, made once for all lines of that second.
class log_second {
public:
    /// `make` fills the room with the text of a moment in UTC, and returns its length.
    template <class Make>
    std::string_view text(std::time_t second, Make&& make) {
        if (second != second_ || length_ == 0) {
            std::tm t{};
            ::gmtime_r(&second, &t);
            length_ = make(room_, t);
            second_ = second;
        }
        return {room_.data(), length_};
    }

    using room = std::array<char, 96>;

private:
    std::time_t second_ = 0;
    room room_;
    std::size_t length_ = 0;
};

/// Whether the byte stands for itself in the quotes of a line. Nearly all that clients send do.
inline bool is_plain(char c) noexcept { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; }

/// Appends a line without its end. One log_second is for one form.
using line_appender = void (*)(std::string& to, const http::access&, log_second&);

void append_common_line(std::string& to, const http::access&, log_second&);
void append_combined_line(std::string& to, const http::access&, log_second&);
void append_json_line(std::string& to, const http::access&, log_second&);

}  // namespace weft::detail
