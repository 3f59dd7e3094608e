# The build matrix of the migration tests, the tests of weft-lint and those of the lock check. Sanitized builds leave them out: they
# compile for themselves, or stand before functions that a sanitizer has taken.
if(WEFT_SANITIZE)
    return()
endif()
find_program(WEFT_OTHER_COMPILER NAMES clang++-16 clang++)
mark_as_advanced(WEFT_OTHER_COMPILER)
set(compilers "${CMAKE_CXX_COMPILER}")
if(WEFT_OTHER_COMPILER AND NOT CMAKE_CXX_COMPILER STREQUAL WEFT_OTHER_COMPILER)
    list(APPEND compilers "${WEFT_OTHER_COMPILER}")
endif()

# In dev alone: it compiles at -O3 with its own flags, so that no other preset would show anything else; and it is the longest of all tests. So
# both compilers build the way that shows them most, as one unit, and `make matrix` has the others.
if(CMAKE_BUILD_TYPE STREQUAL "Debug")
    foreach(compiler IN LISTS compilers)
        cmake_path(GET compiler FILENAME name)
        add_test(NAME matrix.${name} COMMAND Python3::Interpreter "${CMAKE_CURRENT_LIST_DIR}/matrix" "${compiler}"
                 "${CMAKE_CURRENT_BINARY_DIR}/matrix/${name}" --one-unit)
        set_tests_properties(matrix.${name} PROPERTIES TIMEOUT 600 LABELS matrix)
    endforeach()
endif()

if(lint_program AND NOT BUILD_SHARED_LIBS)
    add_test(NAME lint.planted COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tests/lint/check_lint.py" "${PROJECT_SOURCE_DIR}"
             "${lint_program}" $<TARGET_FILE:weft> $<TARGET_FILE:weft_c> "${CMAKE_CURRENT_BINARY_DIR}/lint" ${compilers})
    set_tests_properties(lint.planted PROPERTIES TIMEOUT 300 LABELS lint)
endif()

if(TARGET weft_lockcheck)
    add_executable(lockcheck_held "${PROJECT_SOURCE_DIR}/tests/lockcheck/held.cpp")
    weft_compile_options(lockcheck_held LENIENT)
    target_compile_options(lockcheck_held PRIVATE -g)   # its report names lines
    target_link_libraries(lockcheck_held PRIVATE weft)
    add_test(NAME lockcheck.held COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tests/lockcheck/check_lockcheck.py"
             $<TARGET_FILE:lockcheck_held> $<TARGET_FILE:weft_lockcheck> $<TARGET_FILE:hazards_plugin_gone>)
    add_dependencies(lockcheck_held hazards_plugin_gone)
    set_tests_properties(lockcheck.held PROPERTIES TIMEOUT 120 LABELS lint)
endif()
