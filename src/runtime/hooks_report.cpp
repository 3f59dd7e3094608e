// hooks_report.cpp - weft::hooks, and its report as text and as JSON.
#include <dlfcn.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <sstream>
#include <system_error>
#include <utility>

#include <weft/hooks.hpp>

#include "base/hook_table.hpp"
#include "runtime/dump/code_names.hpp"
#include "runtime/dump/json_text.hpp"
#include "runtime/hooks.hpp"

namespace weft {
namespace hooks {
namespace {

using namespace detail;

site site_of(const hook_count& c, code_names& names) {
    site s{.call = c.name, .object_file = {}, .function = {}, .calls = c.calls, .parks = c.parks, .blocks = c.blocks};
    Dl_info where{};
    if (c.caller && ::dladdr(c.caller, &where) != 0 && where.dli_fname) {
        const std::string_view path = where.dli_fname;
        s.object_file = path.substr(path.rfind('/') + 1);
    }
    if (c.caller) s.function = names.of_caller(c.caller);
    return s;
}

void do_in_library(int (*const hook_library::*what)(const char*), std::string_view file, const char* name) {
    const auto* const found = library_of_hooks();
    const int error = found ? (found->*what)(std::string(file).c_str()) : EPERM;
    if (error != 0)
        throw std::system_error(error, std::generic_category(),
                                "weft::hooks::" + std::string(name) + "(\"" + std::string(file) + "\")");
}

}  // namespace

bool active() noexcept { return library_of_hooks() != nullptr; }

std::vector<site> report() {
    struct {
        std::vector<site> sites;
        code_names names;
        std::exception_ptr failure;
    } seen;
    if (const auto* const found = library_of_hooks())
        found->for_each_count(
            [](const hook_count& c, void* what) {
                auto& s = *static_cast<decltype(seen)*>(what);
                try {
                    s.sites.push_back(site_of(c, s.names));
                } catch (...) {
                    s.failure = std::current_exception();
                }
            },
            &seen);
    if (seen.failure) std::rethrow_exception(seen.failure);
    std::ranges::sort(seen.sites, std::greater(), &site::calls);
    return std::move(seen.sites);
}

void leave_alone(std::string_view file) { do_in_library(&hook_library::leave_alone, file, "leave_alone"); }

void adopt(std::string_view file) { do_in_library(&hook_library::adopt, file, "adopt"); }

}  // namespace hooks

namespace detail {
namespace {

std::string padded(std::string_view s, std::size_t width) {
    std::string r(s);
    if (r.size() < width) r.resize(width, ' ');
    return r;
}

std::string at_right(std::uint64_t n, std::size_t width) {
    const auto digits = std::to_string(n);
    return std::string(width - std::min(width, digits.size()), ' ') + digits;
}

}  // namespace

std::string hooks_in_words() {
    if (!library_of_hooks()) return "hooks: not active (runtime_options::hooks, libweft_hooks.so)\n";
    const auto sites = hooks::report();
    if (sites.empty()) return "hooks: no call by a fiber that is a thread\n";
    std::size_t files = 0, functions = 0, calls = 0;
    for (const auto& s : sites) {
        files = std::max(files, s.object_file.size());
        functions = std::max(functions, s.function.size());
        calls = std::max(calls, s.call.size());
    }
    std::string r;
    for (const auto& s : sites)
        r += "hooks: " + padded(s.object_file, files) + "  " + padded(s.function, functions) + "  " + padded(s.call, calls) +
             at_right(s.calls, 12) + " calls" + at_right(s.parks, 12) + " parks" + at_right(s.blocks, 10) + " may have blocked\n";
    return r;
}

std::string hooks_as_json() {
    std::ostringstream to;
    to << "{\"active\":" << (library_of_hooks() ? "true" : "false") << ",\"sites\":[";
    const char* between = "";
    for (const auto& s : hooks::report()) {
        to << std::exchange(between, ",") << "{\"object_file\":";
        write_json_text(to, s.object_file);
        to << ",\"function\":";
        write_json_text(to, s.function);
        to << ",\"call\":";
        write_json_text(to, s.call);
        to << ",\"calls\":" << s.calls << ",\"parks\":" << s.parks << ",\"blocks\":" << s.blocks << '}';
    }
    to << "]}\n";
    return std::move(to).str();
}

}  // namespace detail
}  // namespace weft
