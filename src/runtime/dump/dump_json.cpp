// dump_json.cpp - a snapshot as one JSON object on one line.
#include <array>
#include <cstdio>
#include <ostream>
#include <string_view>

#include "runtime/dump/dump_forms.hpp"

namespace weft::detail {
namespace {

// The length of the UTF-8 character at the start, or 0 if there is none: a name may be cut in the
// middle of a character.
std::size_t character_at(std::string_view s) noexcept {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
    const auto first = byte(0);
    const std::size_t n = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
    if (n == 0 || n > s.size()) return 0;
    for (std::size_t i = 1; i < n; ++i)
        if ((byte(i) & 0xc0) != 0x80) return 0;
    // Reject an overlong form, and half of a surrogate pair.
    if ((first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) > 0x9f)) return 0;
    // Reject an overlong form, and a value beyond the last character.
    if ((first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) > 0x8f)) return 0;
    return n;
}

class json_writer {
public:
    json_writer(std::ostream& to, code_names& names) : to_(to), names_(names) {}

    void write(const process_snapshot& all) {
        to_ << "{\"runtimes\":";
        list(all.runtimes, [this](const runtime_snapshot& r) { write(r); });
        to_ << ",\"cycles\":";
        list(all.cycles, [this](const std::vector<fiber_id>& c) { list(c, [this](fiber_id id) { to_ << id.value; }); });
        to_ << "}\n";
    }

private:
    void write(const runtime_snapshot& r) {
        to_ << "{\"name\":";
        text(r.name);
        to_ << ",\"workers\":" << r.workers << ",\"refused\":" << r.refused << ",\"asleep\":";
        list(r.asleep, [this](const streams_asleep_snapshot& s) { write(s); });
        to_ << ",\"fibers\":";
        list(r.fibers, [this](const fiber_snapshot& f) { write(f); });
        to_ << '}';
    }

    void write(const streams_asleep_snapshot& s) {
        to_ << "{\"owner\":\"" << s.owner << "\",\"address\":";
        text(s.address);
        to_ << ",\"count\":" << s.count;
        if (s.longest) to_ << ",\"longest_ms\":" << s.longest->count();
        to_ << '}';
    }

    void write(const fiber_snapshot& f) {
        to_ << "{\"id\":" << f.id.value << ",\"name\":";
        text(f.name);
        if (f.site.line() != 0) {
            to_ << ",\"file\":";
            text(f.site.file_name());
            to_ << ",\"line\":" << f.site.line();
        }
        to_ << ",\"state\":\"" << f.state << "\",\"priority\":\"" << name(f.priority)
            << "\",\"detached\":" << (f.detached ? "true" : "false");
        if (f.waits_for != "nothing") to_ << ",\"waits_for\":\"" << f.waits_for << '"';
        if (f.object) {
            to_ << ",\"object\":";
            address(f.object);
        }
        if (f.waited) to_ << ",\"waited_ms\":" << f.waited->count();
        if (f.worker) to_ << ",\"worker\":" << *f.worker;
        if (f.thread != 0) to_ << ",\"thread\":" << f.thread;
        to_ << ",\"owners\":";
        list(f.owners, [this](fiber_id id) { to_ << id.value; });
        to_ << ",\"stack\":";
        // The first address of a running fiber is where the signal arrived.
        bool is_exact = f.thread != 0;
        list(f.stack, [&](const void* code) {
            to_ << "{\"address\":";
            address(code);
            to_ << ",\"place\":";
            text(is_exact ? names_.of(code) : names_.of_caller(code));
            to_ << '}';
            is_exact = false;
        });
        to_ << '}';
    }

    static std::string_view name(priority p) noexcept {
        return p == priority::high ? "high" : p == priority::low ? "low" : "normal";
    }

    template <class T, class F>
    void list(const std::vector<T>& all, F&& write_one) {
        to_ << '[';
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (i != 0) to_ << ',';
            write_one(all[i]);
        }
        to_ << ']';
    }

    void address(const void* p) {
        std::array<char, 24> hex;
        std::snprintf(hex.data(), hex.size(), "\"%p\"", p);
        to_ << hex.data();
    }

    void text(std::string_view s) {
        to_ << '"';
        while (!s.empty()) {
            const auto n = character_at(s);
            if (n == 0)
                to_ << "\xef\xbf\xbd";  // the replacement character
            else if (n == 1)
                ascii(s[0]);
            else
                to_ << s.substr(0, n);
            s.remove_prefix(n == 0 ? 1 : n);
        }
        to_ << '"';
    }

    void ascii(char c) {
        std::array<char, 8> escaped;
        if (c == '"' || c == '\\')
            to_ << '\\' << c;
        else if (static_cast<unsigned char>(c) < 0x20) {
            std::snprintf(escaped.data(), escaped.size(), "\\u%04x", static_cast<unsigned>(c));
            to_ << escaped.data();
        } else
            to_ << c;
    }

    std::ostream& to_;
    code_names& names_;
};

}  // namespace

void write_json(std::ostream& to, const process_snapshot& all, code_names& names) { json_writer(to, names).write(all); }

}  // namespace weft::detail
