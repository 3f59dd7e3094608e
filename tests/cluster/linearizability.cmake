# Histories of names, recorded in simulated runs and checked by porcupine (docs/design/cluster.md). In dev 20 of them are a test; `make cluster-test`
# checks 1,000. How the code is compiled does not matter to them, so sanitized builds leave them out.
if(WEFT_SANITIZE OR NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    return()
endif()
set(linearizability "${CMAKE_CURRENT_LIST_DIR}/linearizability")
set(checker_folder "${linearizability}/checker")
file(GLOB recorder_sources CONFIGURE_DEPENDS "${linearizability}/*.cpp")
weft_buildable(names_record "${recorder_sources}" weft_cluster nlohmann_json::nlohmann_json CLI11::CLI11)
if(NOT WEFT_BUILD_names_record)
    return()
endif()
find_program(WEFT_GO go)
mark_as_advanced(WEFT_GO)
if(NOT WEFT_GO)
    message(STATUS "weft: the linearizability of names skipped: missing go (scripts/setup build installs golang-go)")
    return()
endif()
# The module is fetched by scripts/setup; a build fetches nothing.
set(go_offline "${CMAKE_COMMAND}" -E env GOPROXY=off GOFLAGS=-mod=readonly GOTOOLCHAIN=local)
execute_process(COMMAND ${go_offline} "${WEFT_GO}" mod download WORKING_DIRECTORY "${checker_folder}" RESULT_VARIABLE without_porcupine
                OUTPUT_QUIET ERROR_QUIET)
if(NOT without_porcupine EQUAL 0)
    message(STATUS "weft: the linearizability of names skipped: missing porcupine (scripts/setup build fetches it)")
    return()
endif()

add_executable(names_record ${recorder_sources})
weft_compile_options(names_record LENIENT)
target_include_directories(names_record PRIVATE "${PROJECT_SOURCE_DIR}/src" "${CMAKE_CURRENT_SOURCE_DIR}")
target_link_libraries(names_record PRIVATE weft_cluster nlohmann_json::nlohmann_json CLI11::CLI11)

set(names_checker "${CMAKE_CURRENT_BINARY_DIR}/linearizability/names_checker")
file(GLOB checker_sources CONFIGURE_DEPENDS "${checker_folder}/*.go")
add_custom_command(OUTPUT "${names_checker}" COMMAND ${go_offline} "${WEFT_GO}" build -buildvcs=false -o "${names_checker}" .
                   DEPENDS ${checker_sources} "${checker_folder}/go.mod" "${checker_folder}/go.sum" WORKING_DIRECTORY "${checker_folder}")
add_custom_target(names_checker ALL DEPENDS "${names_checker}")
add_custom_target(weft_linearizability DEPENDS names_checker names_record)

add_test(NAME cluster.journals COMMAND Python3::Interpreter -B "${linearizability}/check_journals.py")
set_tests_properties(cluster.journals PROPERTIES TIMEOUT 30)

# One node over a real etcd; `make cluster-test` starts several, and kills them and members of etcd.
file(GLOB process_sources CONFIGURE_DEPENDS "${linearizability}/over_etcd/*.cpp")
list(APPEND process_sources "${linearizability}/contender.cpp")
weft_buildable(names_process "${process_sources}" weft_cluster weft_etcd nlohmann_json::nlohmann_json CLI11::CLI11)
if(WEFT_BUILD_names_process)
    add_executable(names_process EXCLUDE_FROM_ALL ${process_sources})
    weft_compile_options(names_process LENIENT)
    target_include_directories(names_process PRIVATE "${PROJECT_SOURCE_DIR}/src" "${CMAKE_CURRENT_SOURCE_DIR}")
    target_link_libraries(names_process PRIVATE weft_cluster weft_etcd nlohmann_json::nlohmann_json CLI11::CLI11)
    add_dependencies(weft_linearizability names_process)
endif()

add_test(NAME cluster.linearizability COMMAND Python3::Interpreter "${linearizability}/run" $<TARGET_FILE:names_record> "${names_checker}"
         --histories 20)
set_tests_properties(cluster.linearizability PROPERTIES TIMEOUT ${WEFT_TEST_TIMEOUT})
