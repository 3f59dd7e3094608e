# Compiles and runs each program of the outside project with the flags that pkg-config gives for the installation in PREFIX.
string(REPLACE "," ";" COMPONENTS "${COMPONENTS}")
file(GLOB_RECURSE module_file "${PREFIX}/weft.pc")
cmake_path(GET module_file PARENT_PATH modules)
cmake_path(GET modules PARENT_PATH libraries)
file(MAKE_DIRECTORY "${WORK}")
list(FIND COMPONENTS hooks hooks_place)
if(NOT hooks_place EQUAL -1)   # which come in two forms
    list(APPEND COMPONENTS hooks-static)
endif()

foreach(program IN ITEMS core ${COMPONENTS})
    set(modules_used weft)
    if(NOT program STREQUAL "core")
        set(modules_used weft-${program} weft)   # the lock check stands beside weft, and asks for nothing
    endif()
    if(program STREQUAL "c")
        set(modules_used weft-c)   # it has the core inside
    endif()
    execute_process(COMMAND "${CMAKE_COMMAND}" -E env "PKG_CONFIG_PATH=${modules}" pkg-config --cflags --libs ${modules_used}
                    OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    separate_arguments(flags UNIX_COMMAND "${flags}")
    string(REPLACE "-static" "" source "${program}")
    set(compile "${COMPILER}" -std=c++20 "${CMAKE_CURRENT_LIST_DIR}/${source}.cpp")
    if(program STREQUAL "c")
        set(compile "${C_COMPILER}" -std=c99 "${CMAKE_CURRENT_LIST_DIR}/c.c")
    endif()
    execute_process(COMMAND ${compile} -o "${WORK}/${program}" ${flags}
                    COMMAND_ERROR_IS_FATAL ANY)
    execute_process(COMMAND "${CMAKE_COMMAND}" -E env "LD_LIBRARY_PATH=${libraries}" "${WORK}/${program}"
                    COMMAND_ERROR_IS_FATAL ANY)
endforeach()
