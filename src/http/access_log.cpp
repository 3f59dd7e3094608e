// access_log.cpp - writes the lines of an access log to a descriptor, each whole.
#include <weft/http/log.hpp>

#include <weft/io/descriptor.hpp>
#include <weft/mutex.hpp>

#include <unistd.h>

#include <cerrno>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "base/direct.hpp"

namespace weft::http {
namespace {

class line_writer {
public:
    explicit line_writer(int descriptor) : descriptor_(descriptor) {
        std::error_code error;
        waiting_ = io::descriptor::borrow(descriptor, error);
        // A file cannot be waited for.
        if (error && error != std::errc::invalid_argument) throw std::system_error(error, "weft: http: access_log()");
    }

    void write(std::string line) {
        line += '\n';
        const std::lock_guard guard(lock_);
        if (is_torn_) line.insert(line.begin(), '\n');
        for (std::string_view rest = line; !rest.empty();) {
            rest.remove_prefix(waiting_.is_open() ? waiting_.write_some(rest) : write_at_once(rest));
            is_torn_ = true;
        }
        is_torn_ = false;
    }

private:
    std::size_t write_at_once(std::string_view text) const {
        long n;
        do n = detail::direct::write(descriptor_, text.data(), text.size());
        while (n == -EINTR);
        // A device that takes nothing and reports nothing will not take more the next time.
        if (n == 0) n = -EIO;
        if (n < 0)
            throw std::system_error(static_cast<int>(-n), std::generic_category(), "weft: http: writing the access log");
        return static_cast<std::size_t>(n);
    }

    int descriptor_;
    io::descriptor waiting_;
    weft::mutex lock_;
    bool is_torn_ = false;  // the last line may have no end
};

}  // namespace

std::function<void(const access&)> access_log(int descriptor, std::function<std::string(const access&)> line) {
    if (!line) throw std::invalid_argument("weft: http: access_log() without a function that makes the line");
    return [to = std::make_shared<line_writer>(descriptor), line = std::move(line)](const access& a) { to->write(line(a)); };
}

}  // namespace weft::http
