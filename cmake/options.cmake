# How the project's own code is compiled: language, warnings, sanitizers, and the functions that give a target all three.
option(WEFT_WERROR "Treat warnings as errors" OFF)
set(WEFT_SANITIZE "" CACHE STRING "Sanitizers for everything in this build, as after -fsanitize=")
set(WEFT_OPTIMISE "" CACHE STRING "Flag for the libraries and for tests that compute for long, if the rest is compiled without optimisation: -O1")

set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)   # there are none, and scanning would ask for clang-scan-deps
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release)
endif()

if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
    set(WEFT_ARCH x86_64)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
    set(WEFT_ARCH aarch64)
else()
    message(FATAL_ERROR "weft: no context switch for ${CMAKE_SYSTEM_PROCESSOR} (src/arch has x86_64 and aarch64)")
endif()

# ccache refuses precompiled headers until told that macros and time stamps inside them may be trusted.
find_program(WEFT_CCACHE ccache)
mark_as_advanced(WEFT_CCACHE)
if(WEFT_CCACHE AND PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env
        CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime "${WEFT_CCACHE}")
endif()

# A large frame must touch every page it crosses, or it would jump over the guard page of a fiber's stack.
include(CheckCXXCompilerFlag)
check_cxx_compiler_flag(-fstack-clash-protection WEFT_HAS_STACK_CLASH_PROTECTION)

if(WEFT_SANITIZE)
    add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-fsanitize=${WEFT_SANITIZE}>
                        $<$<COMPILE_LANGUAGE:C,CXX>:-fno-sanitize-recover=all>
                        $<$<COMPILE_LANGUAGE:C,CXX>:-fno-omit-frame-pointer>)
    add_link_options(-fsanitize=${WEFT_SANITIZE})
    if(WEFT_SANITIZE MATCHES undefined)
        # Its look at an object needs a pipe, and without one it reports a fault: some tests fill the descriptor table.
        add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=vptr>)
    endif()
endif()

# weft_compile_options(target [LENIENT]): LENIENT is for tests and benches, which compare literals of every signedness.
function(weft_compile_options target)
    cmake_parse_arguments(PARSE_ARGV 1 arg "LENIENT" "" "")
    set(flags -Wall -Wextra -Wpedantic -Wshadow)
    if(NOT arg_LENIENT)
        list(APPEND flags -Wconversion)
    elseif(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
        list(APPEND flags -Wno-gnu-zero-variadic-macro-arguments)   # TYPED_TEST_SUITE without a name generator
    endif()
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
        list(APPEND flags -Wno-maybe-uninitialized)   # g++ 12 takes the members of a std::variant's other alternatives for read
        if(arg_LENIENT)
            # and the local buffer of a std::string for one that is appended to
            list(APPEND flags -Wno-array-bounds -Wno-stringop-overflow)
        endif()
    endif()
    if(WEFT_WERROR)
        list(APPEND flags -Werror)
    endif()
    if(WEFT_HAS_STACK_CLASH_PROTECTION)
        list(APPEND flags -fstack-clash-protection)
    endif()
    foreach(flag IN LISTS flags)
        target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${flag}>)
    endforeach()
    target_compile_features(${target} PUBLIC cxx_std_20)
endfunction()

# The presets dev, asan and tsan compile tests without optimisation, since that takes half the time. What is tested, and what computes for long,
# is optimised all the same. With a sanitizer that is the core only: clang spends two thirds of its time on optimising instrumented
# code, and the tests of the rest wait more than they compute.
function(weft_optimise target)
    if(WEFT_SANITIZE AND NOT target STREQUAL "weft")
        return()
    endif()
    if(WEFT_OPTIMISE)
        target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${WEFT_OPTIMISE}>)
    endif()
endfunction()

# weft_group(target n): compiles n files of the target as one unit where that was asked for.
function(weft_group target n)
    if(WEFT_UNITY_BUILD)
        set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${n})
        target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-shadow>   # these two take the files for one
                                                 $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
    endif()
endfunction()

# weft_limit_exports(target library): a shared library exports what cmake/exports/<library>.map lists, or that of every library of weft's.
function(weft_limit_exports target library)
    if(WEFT_SANITIZE)   # which needs names of its own
        return()
    endif()
    set(map "${PROJECT_SOURCE_DIR}/cmake/exports/${library}.map")
    if(NOT EXISTS "${map}")
        set(map "${PROJECT_BINARY_DIR}/weft.map")
        configure_file("${PROJECT_SOURCE_DIR}/cmake/exports/weft.map.in" "${map}" @ONLY)
    endif()
    target_link_options(${target} PRIVATE LINKER:--version-script,${map} LINKER:-z,defs)
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${map}")
endfunction()

# weft_library(target name sources...): a library of the product, known to users as weft::<name>. Of its names only those with WEFT_EXPORT
# are visible outside of it.
function(weft_library target name)
    add_library(${target} ${ARGN})
    add_library(weft::${name} ALIAS ${target})
    weft_compile_options(${target})
    if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")   # include/weft/thread_safety.hpp
        target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wthread-safety>)
    endif()
    weft_optimise(${target})
    target_include_directories(${target}
        PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>
        PRIVATE "${PROJECT_SOURCE_DIR}/src")
    if(WEFT_HAS_STACK_CLASH_PROTECTION)   # the frames on fibers' stacks are the user's
        target_compile_options(${target} INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang>:-fstack-clash-protection>)
    endif()
    if(target STREQUAL "weft")   # it defines the name of the version that the files of all others ask for (weft/detail/abi.hpp)
        target_compile_definitions(${target} PRIVATE WEFT_BUILDING)
    endif()
    set_target_properties(${target} PROPERTIES EXPORT_NAME ${name} VERSION ${PROJECT_VERSION} SOVERSION ${WEFT_ABI_VERSION}
                                               CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "SHARED_LIBRARY")
        weft_limit_exports(${target} ${target})
    endif()
endfunction()

# weft_switched(name sources target package [target package]...): weft_buildable for a library that the user's WEFT_<NAME> switches. ON is an
# error where a target is missing, which names the package that brings it. Sets WEFT_WITHOUT_<name> to why it is not built, which
# find_package(weft) repeats.
function(weft_switched name sources)
    string(TOUPPER "WEFT_${name}" switch)
    string(TOUPPER "${${switch}}" wanted)
    if(NOT wanted MATCHES "^(AUTO|ON|OFF|TRUE|FALSE|YES|NO|1|0)$")
        message(FATAL_ERROR "weft: ${switch} is AUTO, ON or OFF, not \"${${switch}}\"")
    endif()
    set(WEFT_BUILD_${name} OFF)
    set(without "")
    if(NOT wanted STREQUAL "AUTO" AND NOT wanted)
        set(without "${switch} was OFF")
        message(STATUS "weft: ${name} skipped: ${switch} is OFF")
    else()
        set(targets)
        set(pairs ${ARGN})
        while(pairs)
            list(POP_FRONT pairs target package)
            set(package_of_${target} "${package}")
            list(APPEND targets ${target})
        endwhile()
        weft_buildable(${name} "${sources}" ${targets})
        if(NOT WEFT_BUILD_${name})
            set(packages)
            foreach(target IN LISTS WEFT_MISSING_${name})
                list(APPEND packages "${package_of_${target}}")
            endforeach()
            list(LENGTH packages count)
            list(JOIN packages ", " packages)
            if(WEFT_MISSING_${name} MATCHES "PkgConfig::" AND NOT PkgConfig_FOUND)
                set(found it)
                if(count GREATER 1)
                    set(found them)
                endif()
                string(APPEND packages ", or pkg-config to find ${found},")
            endif()
            set(without "${packages} was missing")
            if(NOT wanted STREQUAL "AUTO")
                message(FATAL_ERROR "weft: ${switch} is ON, but ${packages} is missing")
            endif()
        endif()
    endif()
    set(WEFT_BUILD_${name} ${WEFT_BUILD_${name}} PARENT_SCOPE)
    set(WEFT_WITHOUT_${name} "${without}" PARENT_SCOPE)
endfunction()

# weft_buildable(name sources targets...): sets WEFT_BUILD_<name> if there are sources and all targets exist, else says why not, and sets
# WEFT_MISSING_<name> to the targets that do not.
function(weft_buildable name sources)
    set(missing)
    foreach(needed IN LISTS ARGN)
        if(NOT TARGET ${needed})
            list(APPEND missing ${needed})
        endif()
    endforeach()
    set(WEFT_BUILD_${name} OFF PARENT_SCOPE)
    set(WEFT_MISSING_${name} "${missing}" PARENT_SCOPE)
    if(NOT sources)
        message(STATUS "weft: ${name} skipped: no sources")
    elseif(missing)
        list(JOIN missing ", " missing)
        message(STATUS "weft: ${name} skipped: missing ${missing}")
    else()
        set(WEFT_BUILD_${name} ON PARENT_SCOPE)
    endif()
endfunction()
