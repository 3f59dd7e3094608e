#include "hooks/objects.hpp"

#include <link.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/atomic.hpp"
#include "hooks/table.hpp"

namespace weft::hooks {
namespace {

using namespace detail;

struct range {
    atomic<std::uintptr_t> low{0}, high{0};
};

// Written one after the other, and never changed: a reader sees those before the count.
std::array<range, 64> left_alone;
atomic<unsigned> left_alone_count{0};

/// Whether "/usr/lib/libpq.so.5.15" is what is meant by "libpq.so.5" or by the whole path.
bool is_meant(std::string_view path, std::string_view wanted) noexcept {
    const auto file = path.substr(path.rfind('/') + 1);
    if (path == wanted || file == wanted) return true;
    return file.starts_with(wanted) && file.size() > wanted.size() && file[wanted.size()] == '.';
}

struct search {
    std::string_view wanted;
    int result = ENOENT;
};

int leave_if_meant(dl_phdr_info* object, std::size_t, void* what) {
    auto& s = *static_cast<search*>(what);
    if (!is_meant(object->dlpi_name, s.wanted)) return 0;
    for (unsigned i = 0; i < object->dlpi_phnum; ++i) {
        const auto& part = object->dlpi_phdr[i];
        if (part.p_type != PT_LOAD || !(part.p_flags & PF_X)) continue;
        const unsigned n = left_alone_count.load(relaxed);  // dl_iterate_phdr() lets in one caller at a time
        if (n == left_alone.size()) {
            s.result = ENOSPC;
            return 1;
        }
        left_alone[n].low.store(object->dlpi_addr + part.p_vaddr, relaxed);
        left_alone[n].high.store(object->dlpi_addr + part.p_vaddr + part.p_memsz, relaxed);
        left_alone_count.store(n + 1, release);  // pairs with is_left_alone()
        s.result = 0;
    }
    return 1;
}

struct find {
    std::string_view wanted;
    std::optional<found_object> found;
};

int look_at(dl_phdr_info* object, std::size_t, void* what) {
    auto& f = *static_cast<find*>(what);
    if (!is_meant(object->dlpi_name, f.wanted)) return 0;
    f.found.emplace().path = object->dlpi_name;
    for (unsigned i = 0; i < object->dlpi_phnum; ++i) {
        const auto& part = object->dlpi_phdr[i];
        if (part.p_type != PT_GNU_RELRO) continue;
        f.found->read_only_from = object->dlpi_addr + part.p_vaddr;
        f.found->read_only_to = f.found->read_only_from + part.p_memsz;
    }
    return 1;
}

}  // namespace

bool is_left_alone(const void* caller) noexcept {
    const unsigned n = left_alone_count.load(acquire);  // pairs with leave_if_meant()
    const auto at = reinterpret_cast<std::uintptr_t>(caller);
    for (unsigned i = 0; i < n; ++i)
        if (at >= left_alone[i].low.load(relaxed) && at < left_alone[i].high.load(relaxed)) return true;
    return false;
}

int leave_alone(const char* object_file) {
    search s{object_file};
    ::dl_iterate_phdr(leave_if_meant, &s);
    return s.result;
}

std::optional<found_object> find_object(const char* name) {
    find f{name, {}};
    ::dl_iterate_phdr(look_at, &f);
    return std::move(f.found);
}

}  // namespace weft::hooks
