# The version stands in CMakeLists.txt and in include/weft/detail/abi.hpp, for users without CMake. Both are raised together.
function(weft_check_version)
    set(header "${PROJECT_SOURCE_DIR}/include/weft/detail/abi.hpp")
    set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${header}")
    file(READ "${header}" text)
    foreach(line IN ITEMS "WEFT_HEADERS_VERSION \"${PROJECT_VERSION}\"" "WEFT_NEEDED_LIBRARY needs_weft_${WEFT_ABI_VERSION_NAME}")
        if(NOT text MATCHES "#define ${line}\n")
            message(FATAL_ERROR "weft: ${header} must say: #define ${line}")
        endif()
    endforeach()
endfunction()

# What headers and libraries must have in common: until 1.0 the minor version, too. It is in the SONAME and in the version of each symbol.
set(WEFT_ABI_VERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
string(REPLACE "." "_" WEFT_ABI_VERSION_NAME "${WEFT_ABI_VERSION}")
# The C ABI only grows: the number changes when a function is taken away.
set(WEFT_C_ABI_VERSION 0)
weft_check_version()
