// adopted.cpp - makes one object file call the hooks, whatever its search order says.
//
// A library that was opened with RTLD_DEEPBIND finds the C library's functions before those of this library.
// Its calls go through tables of addresses, which the loader has filled: here the addresses of the functions
// that this library replaces are written into them. What the library has kept elsewhere, such as a pointer
// in an object of its own, stays as it is.
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <mutex>

#include "base/atomic.hpp"
#include "hooks/objects.hpp"

namespace weft::hooks {
namespace {

#if defined(__x86_64__)
constexpr unsigned address_kinds[] = {R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT, R_X86_64_64};
#else
constexpr unsigned address_kinds[] = {R_AARCH64_JUMP_SLOT, R_AARCH64_GLOB_DAT, R_AARCH64_ABS64};
#endif

bool is_address(const ElfW(Rela) & r) noexcept {
    for (const unsigned kind : address_kinds)
        if (ELF64_R_TYPE(r.r_info) == kind) return true;
    return false;
}

/// Keeps an object file loaded while it lives.
class loaded_object {
public:
    explicit loaded_object(const char* path) noexcept : handle_(::dlopen(path, RTLD_LAZY | RTLD_NOLOAD)) {}
    ~loaded_object() {
        if (handle_) ::dlclose(handle_);
    }
    loaded_object(const loaded_object&) = delete;
    loaded_object& operator=(const loaded_object&) = delete;

    const link_map* map() const noexcept {
        link_map* m = nullptr;
        return handle_ && ::dlinfo(handle_, RTLD_DI_LINKMAP, &m) == 0 ? m : nullptr;
    }
    /// The function of this name in this object file itself; null if it has none.
    void* own_function(const char* name, const link_map& mine) const noexcept {
        void* const found = ::dlsym(handle_, name);
        Dl_info where{};
        if (!found || ::dladdr(found, &where) == 0) return nullptr;
        return reinterpret_cast<std::uintptr_t>(where.dli_fbase) == mine.l_addr ? found : nullptr;
    }

private:
    void* const handle_;
};

/// The tables of an object file. glibc has made absolute addresses of the values; other loaders keep offsets.
class dynamic_section {
public:
    explicit dynamic_section(const link_map& m) noexcept : base_(m.l_addr) {
        for (const auto* d = m.l_ld; d->d_tag != DT_NULL; ++d) {
            switch (d->d_tag) {
                case DT_SYMTAB: symbols_ = at<const ElfW(Sym)>(d->d_un.d_ptr); break;
                case DT_STRTAB: names_ = at<const char>(d->d_un.d_ptr); break;
                case DT_JMPREL: calls_.first = at<const ElfW(Rela)>(d->d_un.d_ptr); break;
                case DT_PLTRELSZ: calls_.count = d->d_un.d_val / sizeof(ElfW(Rela)); break;
                case DT_RELA: others_.first = at<const ElfW(Rela)>(d->d_un.d_ptr); break;
                case DT_RELASZ: others_.count = d->d_un.d_val / sizeof(ElfW(Rela)); break;
                default: break;
            }
        }
    }

    /// Calls f(name, address of the slot) for each slot with the address of a function or an object.
    template <class F>
    void for_each_slot(F f) const {
        if (!symbols_ || !names_) return;
        for (const auto& all : {calls_, others_})
            for (std::size_t i = 0; all.first && i < all.count; ++i) {
                const auto& r = all.first[i];
                if (!is_address(r) || r.r_addend != 0) continue;
                const auto& symbol = symbols_[ELF64_R_SYM(r.r_info)];
                f(names_ + symbol.st_name, reinterpret_cast<void**>(base_ + r.r_offset));
            }
    }

private:
    struct table {
        const ElfW(Rela) * first = nullptr;
        std::size_t count = 0;
    };

    template <class T>
    T* at(ElfW(Addr) value) const noexcept {
        return reinterpret_cast<T*>(value < base_ ? base_ + value : value);
    }

    const ElfW(Addr) base_;
    const ElfW(Sym) * symbols_ = nullptr;
    const char* names_ = nullptr;
    table calls_, others_;
};

/// Stores into a slot; a page that the loader has made read-only is so again afterwards.
/// \returns 0 or an error
int store(void** slot, void* value, const found_object& in) noexcept {
    const auto size = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto first = reinterpret_cast<std::uintptr_t>(slot) & ~(size - 1);
    const bool is_read_only = first >= (in.read_only_from & ~(size - 1)) && first + size <= (in.read_only_to & ~(size - 1));
    void* const page = reinterpret_cast<void*>(first);
    if (is_read_only && ::mprotect(page, size, PROT_READ | PROT_WRITE) != 0) return errno;
    // Either function may be called meanwhile.
    reinterpret_cast<detail::atomic<void*>*>(slot)->store(value, detail::relaxed);
    return is_read_only && ::mprotect(page, size, PROT_READ) != 0 ? errno : 0;
}

}  // namespace

int adopt(const char* object_file) {
    static constinit std::mutex one_at_a_time;  // two would undo each other's protection of a page
    const std::lock_guard guard(one_at_a_time);
    const auto found = find_object(object_file);
    if (!found) return ENOENT;
    Dl_info self{};
    if (::dladdr(reinterpret_cast<const void*>(&adopt), &self) == 0) return ENOENT;
    const loaded_object theirs(found->path.c_str()), ours(self.dli_fname);
    if (!theirs.map() || !ours.map()) return ENOENT;
    int result = 0;
    dynamic_section(*theirs.map()).for_each_slot([&](const char* name, void** slot) {
        void* const hook = ours.own_function(name, *ours.map());
        if (hook && *slot != hook && result == 0) result = store(slot, hook, *found);
    });
    return result;
}

}  // namespace weft::hooks
