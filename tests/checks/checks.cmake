# Tests of the tree itself and of its installation. How the code is compiled does not matter to them, so sanitized builds
# leave out those that compile something.
find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
set(scripts "${PROJECT_SOURCE_DIR}/scripts")
set(work "${CMAKE_CURRENT_BINARY_DIR}")

add_test(NAME check.layers COMMAND Python3::Interpreter "${scripts}/check_layers" "${PROJECT_SOURCE_DIR}")
add_test(NAME check.atomics COMMAND Python3::Interpreter "${scripts}/check_atomics" "${PROJECT_SOURCE_DIR}")
add_test(NAME check.guide COMMAND Python3::Interpreter "${scripts}/check_guide" "${PROJECT_SOURCE_DIR}")
add_test(NAME check.guarantees COMMAND Python3::Interpreter "${scripts}/check_guarantees" "${PROJECT_SOURCE_DIR}")
add_test(NAME check.tags COMMAND Python3::Interpreter "${scripts}/check_tags" "${PROJECT_SOURCE_DIR}")
set_tests_properties(check.layers check.atomics check.guide check.guarantees check.tags PROPERTIES TIMEOUT ${WEFT_TEST_TIMEOUT} LABELS check)
if(WEFT_SANITIZE)
    return()
endif()

# Building everything builds weft_headers; the test reports it by name and builds what has changed since.
include(header_check)
weft_header_check(weft_headers "${PROJECT_SOURCE_DIR}/include" "weft/*.hpp")
add_test(NAME check.headers COMMAND ${CMAKE_COMMAND} --build "${PROJECT_BINARY_DIR}" --target weft_headers)
add_test(NAME check.negative COMMAND Python3::Interpreter "${CMAKE_CURRENT_LIST_DIR}/check_negative.py"
         "${PROJECT_SOURCE_DIR}" "${CMAKE_COMMAND}" "${CMAKE_CXX_COMPILER}" "${work}/negative")
add_test(NAME check.peers COMMAND Python3::Interpreter "${CMAKE_CURRENT_LIST_DIR}/check_peers.py"
         "${PROJECT_SOURCE_DIR}" "${CMAKE_CXX_COMPILER}" "${work}/peers")
add_test(NAME check.flags COMMAND Python3::Interpreter "${CMAKE_CURRENT_LIST_DIR}/check_flags.py"
         "${PROJECT_SOURCE_DIR}" "${CMAKE_CXX_COMPILER}" "${work}/flags")
set_tests_properties(check.headers check.negative check.peers check.flags PROPERTIES TIMEOUT 300 LABELS check)

# The installation is made once for both tests of it.
if(NOT WEFT_INSTALL)
    return()
endif()
set(components reductions lockcheck)
foreach(component IN ITEMS http redis)
    if(WEFT_BUILD_${component})
        list(APPEND components ${component})
    endif()
endforeach()
set(package "${PROJECT_SOURCE_DIR}/tests/package")
set(prefix "${work}/package/prefix")
set(outside -D "PREFIX=${prefix}" -D "COMPILER=${CMAKE_CXX_COMPILER}" -D "COMPONENTS=${components}")

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
set_tests_properties(package.install package.find_package package.pkg_config package.switches PROPERTIES TIMEOUT 300 LABELS package)
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
