// code_names.hpp - the names of places in code, as "function+0x1f" or "library.so+0x1234".
//
// Names come from the dynamic symbols, which the loader knows, and, if a program or library has not
// been stripped, from the symbol table in its file, which names every function. The file is read on
// first use and unmapped with the object.
#pragma once

#include <map>
#include <memory>
#include <string>

namespace weft::detail {

class symbol_table;

class code_names {
public:
    code_names() noexcept;
    ~code_names();
    code_names(const code_names&) = delete;
    code_names& operator=(const code_names&) = delete;

    /// Names an address in this process. \throws std::bad_alloc
    std::string of(const void* code);
    /// Names a return address by the call before it, since that may be the last instruction of its
    /// function.
    std::string of_caller(const void* returns_to);

private:
    const symbol_table& table_of(const char* file);

    std::map<std::string, std::unique_ptr<symbol_table>> tables_;
};

/// Names an address by dynamic symbols only, mangled; reads no file.
std::string place_of(const void* code);

}  // namespace weft::detail
