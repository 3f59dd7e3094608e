// code_names.hpp - the names of places in code, as "function+0x1f" or "library.so+0x1234".
//
// By the dynamic symbols, which the loader knows, and where a program or library has not been stripped by the table in its file, which
// names every function. The file is read on first use and forgotten with the object.
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

    /// Of an address in this process. \throws std::bad_alloc
    std::string of(const void* code);
    /// The same of a return address: of the call before it, which may be the last instruction of its function.
    std::string of_caller(const void* returns_to);

private:
    const symbol_table& table_of(const char* file);

    std::map<std::string, std::unique_ptr<symbol_table>> tables_;
};

/// By dynamic symbols alone, mangled: reads no file.
std::string place_of(const void* code);

}  // namespace weft::detail
