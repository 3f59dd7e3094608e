// dump_json.cpp - a snapshot as one JSON object on one line.
#include <array>
#include <cstdio>
#include <ostream>
#include <string_view>

#include "runtime/dump/dump_forms.hpp"
#include "runtime/dump/json_text.hpp"

namespace weft::detail {
namespace {

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
        if (f.call) {
            to_ << ",\"call\":{\"name\":\"" << f.call->name << '"';
            if (f.call->descriptor >= 0) to_ << ",\"descriptor\":" << f.call->descriptor;
            if (f.call->object) {
                to_ << ",\"object\":";
                address(f.call->object);
            }
            if (f.call->caller) {
                to_ << ",\"caller\":";
                text(names_.of_caller(f.call->caller));
            }
            to_ << '}';
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

    void text(std::string_view s) { write_json_text(to_, s); }

    std::ostream& to_;
    code_names& names_;
};

}  // namespace

void write_json(std::ostream& to, const process_snapshot& all, code_names& names) { json_writer(to, names).write(all); }

}  // namespace weft::detail
