#include "prefork/handover.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "base/direct.hpp"

namespace weft::prefork {
namespace {

constexpr std::string_view form = "weft-prefork-handover-1";
constexpr std::size_t longest = 64 << 20;  // chosen: far more than the beginnings of lines of all workers
// Nobody can change the text after this.
constexpr int all_seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;

[[noreturn]] void fail(const char* what, long error) {
    throw std::system_error(static_cast<int>(-error), std::generic_category(), what);
}
[[noreturn]] void fail(const char* what) { fail(what, -errno); }

/// Begins the last part of the text, which is there only if a port says more than older programs know. Those
/// do not read so far.
constexpr std::string_view more_of_ports = "ports";
bool says_more(const handover::port& p) noexcept { return p.file.is_there() || p.whose != opened_by::a_master; }

class writer {
public:
    writer& operator<<(std::int64_t n) {
        (text_ += std::to_string(n)) += ' ';
        return *this;
    }
    writer& operator<<(std::string_view s) {
        *this << static_cast<std::int64_t>(s.size());
        (text_ += s) += ' ';
        return *this;
    }
    const std::string& text() const noexcept { return text_; }

private:
    std::string text_;
};

class reader {
public:
    explicit reader(std::string_view text) : rest_(text) {}

    template <class Number>
    Number number() {
        Number n{};
        const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), n);
        const auto used = static_cast<std::size_t>(end - rest_.data());
        if (error != std::errc() || used == rest_.size() || *end != ' ') refuse();
        rest_.remove_prefix(used + 1);
        return n;
    }
    std::string string() {
        const auto size = number<std::size_t>();
        if (size >= rest_.size()) refuse();
        std::string s(rest_.substr(0, size));
        rest_.remove_prefix(size + 1);
        return s;
    }
    std::size_t count() {
        const auto n = number<std::size_t>();
        if (n > rest_.size()) refuse();
        return n;
    }
    bool is_over() const noexcept { return rest_.empty(); }
    [[noreturn]] static void refuse() {
        throw std::runtime_error("weft: prefork: what the master has left is not in the form of this program, " +
                                 std::string(form));
    }

private:
    std::string_view rest_;
};

std::string all_of(int file) {
    struct stat is {};
    const long seals = detail::direct::fcntl(file, F_GET_SEALS);
    if (seals < 0 || (seals & F_SEAL_WRITE) == 0 || ::fstat(file, &is) != 0 || static_cast<std::size_t>(is.st_size) > longest)
        throw std::runtime_error("weft: prefork: descriptor " + std::to_string(file) + " is not what a master leaves");
    std::string text(static_cast<std::size_t>(is.st_size), '\0');
    for (std::size_t at = 0; at < text.size();) {
        const auto n = ::pread(file, text.data() + at, text.size() - at, static_cast<off_t>(at));
        if (n <= 0 && errno != EINTR) fail("weft: prefork: reading what the master has left");
        if (n > 0) at += static_cast<std::size_t>(n);
    }
    return text;
}

}  // namespace

std::vector<int> handover::descriptors() const {
    std::vector<int> all{mark, life_reader, life_writer};
    for (const auto& p : ports) all.push_back(p.descriptor);
    for (const auto& w : workers) all.insert(all.end(), {w.out, w.err, w.word});
    std::erase(all, -1);
    return all;
}

detail::owned_descriptor handover::written() const {
    writer w;
    w << form << ::getpid() << last_number << current << grace.count() << mark << life_reader << life_writer;
    w << static_cast<std::int64_t>(ports.size());
    for (const auto& p : ports) w << p.asked.host << p.asked.port << p.descriptor;
    w << static_cast<std::int64_t>(workers.size());
    for (const auto& p : workers) w << p.id << p.out << p.err << p.word << p.rest_of_out << p.rest_of_err;
    w << static_cast<std::int64_t>(lines.size());
    for (const auto& l : lines) w << l;
    if (std::ranges::any_of(ports, says_more)) {
        w << more_of_ports;
        for (const auto& p : ports)
            w << static_cast<std::int64_t>(p.whose == opened_by::supervisor) << static_cast<std::int64_t>(p.file.device)
              << static_cast<std::int64_t>(p.file.inode);
    }
    detail::owned_descriptor file(::memfd_create("weft-prefork-handover", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (file.get() < 0) fail("weft: prefork: a file in memory");
    for (std::string_view rest = w.text(); !rest.empty();) {
        const auto n = detail::direct::write(file.get(), rest.data(), rest.size());
        if (n < 0 && n != -EINTR) fail("weft: prefork: a file in memory", n);
        if (n > 0) rest.remove_prefix(static_cast<std::size_t>(n));
    }
    const long sealed = detail::direct::fcntl(file.get(), F_ADD_SEALS, all_seals);
    if (sealed < 0) fail("weft: prefork: a file in memory", sealed);
    return file;
}

handover handover::read(int file, int written_by) {
    const auto text = all_of(file);
    reader r(text);
    if (r.string() != form) reader::refuse();
    if (r.number<int>() != written_by)
        throw std::runtime_error("weft: prefork: descriptor " + std::to_string(file) +
                                 " is from another process than the master");
    handover h;
    h.last_number = r.number<unsigned>();
    h.current = r.number<unsigned>();
    h.grace = std::chrono::nanoseconds(r.number<std::chrono::nanoseconds::rep>());
    for (int* const fd : {&h.mark, &h.life_reader, &h.life_writer}) *fd = r.number<int>();
    for (auto n = r.count(); n > 0; --n) {
        auto host = r.string();
        const auto port = r.number<std::uint16_t>();
        h.ports.push_back({.asked = {.host = std::move(host), .port = port}, .descriptor = r.number<int>()});
    }
    for (auto n = r.count(); n > 0; --n) {
        auto& p = h.workers.emplace_back();
        for (int* const value : {&p.id, &p.out, &p.err, &p.word}) *value = r.number<int>();
        p.rest_of_out = r.string();
        p.rest_of_err = r.string();
    }
    for (auto n = r.count(); n > 0; --n) h.lines.push_back(r.string());
    if (r.is_over()) return h;
    if (r.string() != more_of_ports) reader::refuse();
    for (auto& p : h.ports) {
        p.whose = r.number<int>() != 0 ? opened_by::supervisor : opened_by::a_master;
        p.file.device = static_cast<dev_t>(r.number<std::int64_t>());
        p.file.inode = static_cast<ino_t>(r.number<std::int64_t>());
    }
    return h;
}

}  // namespace weft::prefork
