# The commands of tools/gdb/weft.py, on a live process and on its core. Not of sanitized programs, which do not leave the core they should.
if(WEFT_SANITIZE OR NOT WEFT_EMBED_GDB_SCRIPT)
    return()
endif()
find_program(WEFT_GDB NAMES gdb)
mark_as_advanced(WEFT_GDB)
if(NOT WEFT_GDB)
    message(STATUS "weft: tests of the gdb commands skipped: no gdb (scripts/setup build)")
    return()
endif()

add_executable(gdb_parked "${CMAKE_CURRENT_LIST_DIR}/parked.cpp")
weft_compile_options(gdb_parked LENIENT)
target_compile_options(gdb_parked PRIVATE -g)   # its variables are looked at; weft needs none
target_link_libraries(gdb_parked PRIVATE weft)
add_test(NAME gdb.commands COMMAND Python3::Interpreter "${CMAKE_CURRENT_LIST_DIR}/check_gdb.py" "${WEFT_GDB}" $<TARGET_FILE:gdb_parked>
         "${CMAKE_CURRENT_BINARY_DIR}/gdb")
set_tests_properties(gdb.commands PROPERTIES TIMEOUT 300)

# gdb steps through switches. It knows nothing of the commands above.
add_executable(gdb_switches "${CMAKE_CURRENT_LIST_DIR}/switches.cpp")
weft_compile_options(gdb_switches LENIENT)
target_compile_options(gdb_switches PRIVATE -g)
target_include_directories(gdb_switches PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/tests")
target_link_libraries(gdb_switches PRIVATE weft)
add_test(NAME gdb.switches COMMAND Python3::Interpreter "${CMAKE_CURRENT_LIST_DIR}/check_switches.py" "${WEFT_GDB}" $<TARGET_FILE:gdb_switches>)
set_tests_properties(gdb.switches PROPERTIES TIMEOUT 300)
