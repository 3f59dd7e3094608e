#include "runtime/dump/code_names.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/direct.hpp"

namespace weft::detail {
namespace {

std::string hex(const char* format, std::size_t n) {
    std::array<char, 24> text;
    std::snprintf(text.data(), text.size(), format, n);
    return text.data();
}

std::string demangled(const char* name) {
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
    return text ? text.get() : name;
}

// The bytes of a file during the lifetime of the object; empty if the file cannot be read.
class mapped_file {
public:
    explicit mapped_file(const char* path) noexcept {
        const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0) return;
        struct stat s = {};
        if (::fstat(fd, &s) == 0 && s.st_size > 0) {
            void* const at = ::mmap(nullptr, static_cast<std::size_t>(s.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
            if (at != MAP_FAILED) bytes_ = {static_cast<const std::byte*>(at), static_cast<std::size_t>(s.st_size)};
        }
        direct::close(fd);
    }
    ~mapped_file() {
        if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
    }
    mapped_file(const mapped_file&) = delete;
    mapped_file& operator=(const mapped_file&) = delete;

    /// `count` values of type T at an offset; empty if they are not all there.
    template <class T>
    std::span<const T> at(std::size_t offset, std::size_t count) const noexcept {
        if (offset > bytes_.size() || count > (bytes_.size() - offset) / sizeof(T) || offset % alignof(T) != 0) return {};
        return {reinterpret_cast<const T*>(bytes_.data() + offset), count};
    }

private:
    std::span<const std::byte> bytes_;
};

}  // namespace

// The functions of one file, sorted by address.
class symbol_table {
public:
    explicit symbol_table(const char* file) : file_(file) {
        const auto header = file_.at<Elf64_Ehdr>(0, 1);
        if (header.empty() || std::memcmp(header[0].e_ident, ELFMAG, SELFMAG) != 0 || header[0].e_ident[EI_CLASS] != ELFCLASS64)
            return;
        const auto sections = file_.at<Elf64_Shdr>(header[0].e_shoff, header[0].e_shnum);
        for (const auto& s : sections)
            if (s.sh_type == SHT_SYMTAB && s.sh_link < sections.size()) add(s, sections[s.sh_link]);
        std::sort(functions_.begin(), functions_.end(),
                  [](const Elf64_Sym& a, const Elf64_Sym& b) { return a.st_value < b.st_value; });
    }

    struct found {
        const char* name;
        std::size_t offset;
    };
    /// The function at an address of the file.
    std::optional<found> of(std::uint64_t at) const noexcept {
        auto next = std::upper_bound(functions_.begin(), functions_.end(), at,
                                     [](std::uint64_t a, const Elf64_Sym& s) { return a < s.st_value; });
        if (next == functions_.begin()) return std::nullopt;
        const auto& s = *--next;
        if (at - s.st_value >= s.st_size || s.st_name >= names_.size()) return std::nullopt;
        return found{names_.data() + s.st_name, at - s.st_value};
    }

private:
    void add(const Elf64_Shdr& symbols, const Elf64_Shdr& names) {
        names_ = file_.at<char>(names.sh_offset, names.sh_size);
        if (names_.empty() || names_.back() != '\0') return;
        for (const auto& s : file_.at<Elf64_Sym>(symbols.sh_offset, symbols.sh_size / sizeof(Elf64_Sym)))
            if (ELF64_ST_TYPE(s.st_info) == STT_FUNC && s.st_value != 0) functions_.push_back(s);
    }

    mapped_file file_;
    std::vector<Elf64_Sym> functions_;
    std::span<const char> names_;
};

code_names::code_names() noexcept = default;
code_names::~code_names() = default;

// The program itself has no name in its link map; the name by which it was called may be relative
// to another directory.
const symbol_table& code_names::table_of(const char* file) {
    auto& table = tables_[file];
    if (!table) table = std::make_unique<symbol_table>(*file ? file : "/proc/self/exe");
    return *table;
}

std::string code_names::of(const void* code) {
    Dl_info known{};
    void* extra = nullptr;
    if (::dladdr1(code, &known, &extra, RTLD_DL_LINKMAP) == 0 || !extra)
        return hex("0x%zx", reinterpret_cast<std::uintptr_t>(code));
    const auto& module = *static_cast<const link_map*>(extra);
    if (const auto f = table_of(module.l_name).of(reinterpret_cast<std::uintptr_t>(code) - module.l_addr))
        return demangled(f->name) + hex("+0x%zx", f->offset);
    if (known.dli_sname)
        return demangled(known.dli_sname) + hex("+0x%zx", static_cast<std::size_t>(static_cast<const char*>(code) -
                                                                                   static_cast<const char*>(known.dli_saddr)));
    return place_of(code);
}

std::string code_names::of_caller(const void* returns_to) { return of(static_cast<const char*>(returns_to) - 1); }

std::string place_of(const void* code) {
    Dl_info found{};
    if (::dladdr(code, &found) == 0 || !found.dli_fname) return hex("0x%zx", reinterpret_cast<std::uintptr_t>(code));
    const bool has_name = found.dli_sname != nullptr;
    const auto* const from = static_cast<const char*>(has_name ? found.dli_saddr : found.dli_fbase);
    const auto* const slash = std::strrchr(found.dli_fname, '/');
    return std::string(has_name ? found.dli_sname
                       : slash  ? slash + 1
                                : found.dli_fname) +
           hex("+0x%zx", static_cast<std::size_t>(static_cast<const char*>(code) - from));
}

}  // namespace weft::detail
