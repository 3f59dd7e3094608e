# Tests of the tree itself and of its installation. How the code is compiled does not matter to them, so sanitized builds
# leave out those that compile something.
find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
set(scripts "${PROJECT_SOURCE_DIR}/scripts")
set(work "${CMAKE_CURRENT_BINARY_DIR}")

add_test(NAME check.layers COMMAND Python3::Interpreter "${scripts}/check_layers" "${PROJECT_SOURCE_DIR}")
add_test(NAME check.atomics COMMAND Python3::Interpreter "${scripts}/check_atomics" "${PROJECT_SOURCE_DIR}")
add_test(NAME check.guide COMMAND Python3::Interpreter "${scripts}/check_guide" "${PROJECT_SOURCE_DIR}")
add_test(NAME check.guarantees COMMAND Python3::Interpreter "${scripts}/check_guarantees" "${PROJECT_SOURCE_DIR}")
add_test(NAME check.rows.seed_X3 COMMAND Python3::Interpreter "${scripts}/check_rows" "${PROJECT_SOURCE_DIR}")
add_test(NAME check.tags COMMAND Python3::Interpreter "${scripts}/check_tags" "${PROJECT_SOURCE_DIR}")
add_test(NAME check.waits COMMAND Python3::Interpreter "${scripts}/check_waits" "${PROJECT_SOURCE_DIR}")
add_test(NAME check.umbrella COMMAND Python3::Interpreter "${scripts}/check_umbrella" "${PROJECT_SOURCE_DIR}")
add_test(NAME check.seeds.seed_X1_X2_X4_Q17_Q19 COMMAND Python3::Interpreter "${CMAKE_CURRENT_LIST_DIR}/check_seeds.py" "${PROJECT_SOURCE_DIR}")
set_tests_properties(check.layers check.atomics check.guide check.guarantees check.rows.seed_X3 check.seeds.seed_X1_X2_X4_Q17_Q19 check.tags check.waits check.umbrella
                     PROPERTIES TIMEOUT ${WEFT_TEST_TIMEOUT} LABELS check)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    add_test(NAME check.thread_safety COMMAND Python3::Interpreter "${CMAKE_CURRENT_LIST_DIR}/check_thread_safety.py"
             "${PROJECT_SOURCE_DIR}" "${CMAKE_CXX_COMPILER}")
    set_tests_properties(check.thread_safety PROPERTIES TIMEOUT 60 LABELS check)
endif()
if(WEFT_UNITY_BUILD AND WEFT_SANITIZE STREQUAL "thread" AND WEFT_BUILD_http AND WEFT_BUILD_redis)   # the build that has time for it
    get_target_property(hiredis_folders PkgConfig::hiredis INTERFACE_INCLUDE_DIRECTORIES)
    if(NOT hiredis_folders)
        set(hiredis_folders)
    endif()
    add_test(NAME check.alone COMMAND Python3::Interpreter "${CMAKE_CURRENT_LIST_DIR}/check_alone.py" "${PROJECT_SOURCE_DIR}"
             "${CMAKE_CXX_COMPILER}" "${WEFT_ARCH}" ${hiredis_folders})
    set_tests_properties(check.alone PROPERTIES TIMEOUT 900 PROCESSORS 2 LABELS check)
endif()
if(WEFT_SANITIZE)
    return()
endif()

# Building everything builds weft_headers; the test reports it by name and builds what has changed since.
include(header_check)
set(headers_left_out)
foreach(format IN ITEMS protobuf:PkgConfig::protobuf msgpack:msgpack_cxx)
    string(REGEX REPLACE ":.*" "" header "${format}")
    string(REGEX REPLACE "^[a-z]*:" "" library "${format}")
    if(NOT TARGET ${library})
        message(STATUS "weft: check.headers leaves weft/cluster/${header}.hpp out: no ${library}")
        list(APPEND headers_left_out "cluster/${header}\\.hpp$")
    endif()
endforeach()
weft_header_check(weft_headers "${PROJECT_SOURCE_DIR}/include" "weft/*.hpp" ${headers_left_out})
add_test(NAME check.headers COMMAND ${CMAKE_COMMAND} --build "${PROJECT_BINARY_DIR}" --target weft_headers)
add_test(NAME check.negative COMMAND Python3::Interpreter "${CMAKE_CURRENT_LIST_DIR}/check_negative.py"
         "${PROJECT_SOURCE_DIR}" "${CMAKE_COMMAND}" "${CMAKE_CXX_COMPILER}" "${work}/negative")
add_test(NAME check.peers COMMAND Python3::Interpreter "${CMAKE_CURRENT_LIST_DIR}/check_peers.py"
         "${PROJECT_SOURCE_DIR}" "${CMAKE_CXX_COMPILER}" "${work}/peers")
add_test(NAME check.flags COMMAND Python3::Interpreter "${CMAKE_CURRENT_LIST_DIR}/check_flags.py"
         "${PROJECT_SOURCE_DIR}" "${CMAKE_CXX_COMPILER}" "${work}/flags")
set_tests_properties(check.headers check.negative check.peers check.flags PROPERTIES TIMEOUT 300 LABELS check)
add_test(NAME check.without_monitor.seed_R13 COMMAND Python3::Interpreter "${CMAKE_CURRENT_LIST_DIR}/check_without_monitor.py"
         "${PROJECT_SOURCE_DIR}" "${CMAKE_COMMAND}" "${CMAKE_GENERATOR}" "${CMAKE_CXX_COMPILER}" "${CMAKE_NM}" "${work}/without_monitor")
set_tests_properties(check.without_monitor.seed_R13 PROPERTIES TIMEOUT 900 PROCESSORS 2 LABELS check)

# The edge of the libraries (docs/design/abi.md), at the shared libraries of the same objects.
set(shared_libraries $<TARGET_FILE:weft_lockcheck> $<TARGET_FILE:weft_hooks> $<TARGET_FILE:weft_c>)
set(static_libraries)
foreach(target IN ITEMS weft weft_http weft_redis weft_tls weft_ws weft_nats weft_etcd weft_prefork weft_cluster weft_reductions)
    if(TARGET ${target}_shared)
        list(APPEND shared_libraries $<TARGET_FILE:${target}_shared>)
        list(APPEND static_libraries --static $<TARGET_FILE:${target}>)
    endif()
endforeach()
add_test(NAME check.exports COMMAND Python3::Interpreter "${CMAKE_CURRENT_LIST_DIR}/check_exports.py" --nm "${CMAKE_NM}"
         --readelf "${CMAKE_READELF}" --version "${WEFT_ABI_VERSION}" --headers "${PROJECT_SOURCE_DIR}/include/weft" --list "${work}/exported.txt"
         --objects "${PROJECT_BINARY_DIR}/CMakeFiles" --static-hooks $<TARGET_FILE:weft_hooks_static> ${static_libraries} ${shared_libraries})
add_test(NAME check.abi COMMAND Python3::Interpreter "${CMAKE_CURRENT_LIST_DIR}/check_abi.py" "${PROJECT_SOURCE_DIR}" "${CMAKE_CXX_COMPILER}"
         $<TARGET_FILE:weft> $<TARGET_FILE:weft_shared> "${PROJECT_VERSION}" "${work}/abi")
set_tests_properties(check.exports check.abi PROPERTIES TIMEOUT 300 LABELS check)

add_test(NAME package.recipes COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tests/package/check_recipes.py" "${PROJECT_SOURCE_DIR}"
         "${CMAKE_COMMAND}")
set_tests_properties(package.recipes PROPERTIES TIMEOUT 30 LABELS package)

# The installation is made once for both tests of it.
if(NOT WEFT_INSTALL)
    return()
endif()
set(components prefork reductions lockcheck hooks c)
foreach(component IN ITEMS http redis)
    if(WEFT_BUILD_${component})
        list(APPEND components ${component})
    endif()
endforeach()
set(package "${PROJECT_SOURCE_DIR}/tests/package")
set(prefix "${work}/package/prefix")
list(JOIN components "," components)   # a semicolon would make arguments of their own of them
set(outside -D "PREFIX=${prefix}" -D "COMPILER=${CMAKE_CXX_COMPILER}" -D "C_COMPILER=${CMAKE_C_COMPILER}"
            -D "COMPONENTS=${components}")

add_test(NAME package.install COMMAND ${CMAKE_COMMAND} -D "BUILD=${PROJECT_BINARY_DIR}" -D "PREFIX=${prefix}"
         -P "${package}/install.cmake")
add_test(NAME package.find_package COMMAND ${CMAKE_COMMAND} ${outside} -D "WORK=${work}/package/find_package"
         -D "GENERATOR=${CMAKE_GENERATOR}" -P "${package}/find_package.cmake")
add_test(NAME package.pkg_config COMMAND ${CMAKE_COMMAND} ${outside} -D "WORK=${work}/package/pkg_config"
         -P "${package}/pkg_config.cmake")
add_test(NAME package.switches COMMAND Python3::Interpreter "${package}/check_switches.py" "${PROJECT_SOURCE_DIR}" "${CMAKE_COMMAND}"
         "${CMAKE_GENERATOR}" "${CMAKE_CXX_COMPILER}" "${prefix}" "${work}/package/switches")
set_tests_properties(package.install PROPERTIES FIXTURES_SETUP installed)
set_tests_properties(package.find_package package.pkg_config package.switches PROPERTIES FIXTURES_REQUIRED installed)
set_tests_properties(package.install package.find_package package.pkg_config package.switches PROPERTIES TIMEOUT 600 LABELS package)
if(lint_program)
    add_test(NAME package.lint COMMAND "${prefix}/bin/weft-lint" --help)   # finds its modules where they were installed
    set_tests_properties(package.lint PROPERTIES FIXTURES_REQUIRED installed TIMEOUT 30 LABELS package)
endif()
if(TARGET weft_cli)
    add_test(NAME package.command COMMAND "${prefix}/bin/weft" version)
    set_tests_properties(package.command PROPERTIES FIXTURES_REQUIRED installed TIMEOUT 30 LABELS package
                         PASS_REGULAR_EXPRESSION "${PROJECT_VERSION}")
    add_test(NAME package.plot_script COMMAND ${CMAKE_COMMAND} -E compare_files
             "${PROJECT_SOURCE_DIR}/tools/weft/share/plot" "${prefix}/share/weft/plot")
    set_tests_properties(package.plot_script PROPERTIES FIXTURES_REQUIRED installed TIMEOUT 30 LABELS package)
endif()
