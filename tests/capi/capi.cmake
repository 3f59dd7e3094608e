# capi.cmake - the tests of the C ABI: each file as two programs, compiled as C99 and as C++17.
#
# capi_<area> has one CTest test per TEST; capi_<area>_cxx runs as a whole. With a sanitizer both do, since their processes start slowly.
enable_language(C)

set(capi_flags -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror)

add_library(capi_check STATIC capi/support/check.c)
target_compile_options(capi_check PRIVATE ${capi_flags})
target_include_directories(capi_check PUBLIC "${CMAKE_CURRENT_SOURCE_DIR}/capi")
target_link_libraries(capi_check PUBLIC weft_c Threads::Threads)
set_target_properties(capi_check PROPERTIES C_STANDARD 99 C_EXTENSIONS OFF)

function(capi_program name source)
    add_executable(${name} "${source}")
    target_compile_options(${name} PRIVATE ${capi_flags})
    target_link_libraries(${name} PRIVATE capi_check)
    set_target_properties(${name} PROPERTIES C_STANDARD 99 C_EXTENSIONS OFF CXX_STANDARD 17 CXX_EXTENSIONS OFF)
    if(WEFT_SANITIZE)   # the sanitizers of the library are those of C++
        set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
    endif()
endfunction()

# capi_test(name program labels [argument]): a CTest test.
function(capi_test name program labels)
    add_test(NAME ${name} COMMAND ${program} ${ARGN})
    set_tests_properties(${name} PROPERTIES TIMEOUT ${WEFT_TEST_TIMEOUT} LABELS "${labels}")
endfunction()

file(GLOB sources CONFIGURE_DEPENDS "capi/*_test.c" "capi/*_test.cpp")
if(NOT WEFT_BUILD_http)
    list(FILTER sources EXCLUDE REGEX "/http_test\\.c$")
endif()
foreach(source IN LISTS sources)
    cmake_path(GET source STEM area)
    cmake_path(GET source EXTENSION extension)
    string(REGEX REPLACE "_test$" "" area "${area}")
    set(labels capi)
    if(area STREQUAL "stress")
        list(APPEND labels stress)
    endif()

    capi_program(capi_${area} "${source}")
    if(WEFT_SANITIZE)
        capi_test(capi.${area} capi_${area} "${labels}")
    else()
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${source}")
        file(STRINGS "${source}" tests REGEX "^(FIBER_|ANYWHERE_)?TEST\\([a-z0-9_]+\\)")
        foreach(test IN LISTS tests)
            string(REGEX REPLACE "^[A-Z_]+\\(([a-z0-9_]+)\\).*" "\\1" test "${test}")
            capi_test(capi.${area}.${test} capi_${area} "${labels}" ${test})
        endforeach()
    endif()

    if(extension STREQUAL ".c")
        set(wrapper "${CMAKE_CURRENT_BINARY_DIR}/capi/${area}.cpp")
        file(CONFIGURE OUTPUT "${wrapper}" CONTENT "#include \"@area@_test.c\"\n" @ONLY)
        capi_program(capi_${area}_cxx "${wrapper}")
        capi_test(capi.${area}_cxx capi_${area}_cxx "${labels}")
    endif()
endforeach()
