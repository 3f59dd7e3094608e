# Configures, builds and runs the outside project against the installation in PREFIX, in a fresh directory WORK. OPTIONS: more for CMake.
function(run)
    execute_process(COMMAND ${ARGV} RESULT_VARIABLE status)
    if(NOT status EQUAL 0)
        list(JOIN ARGV " " command)
        message(FATAL_ERROR "failed: ${command}")
    endif()
endfunction()

file(REMOVE_RECURSE "${WORK}")
run("${CMAKE_COMMAND}" -G "${GENERATOR}" -S "${CMAKE_CURRENT_LIST_DIR}" -B "${WORK}"
    -D "CMAKE_CXX_COMPILER=${COMPILER}" -D "CMAKE_PREFIX_PATH=${PREFIX}" -D "COMPONENTS=${COMPONENTS}" ${OPTIONS})
run("${CMAKE_COMMAND}" --build "${WORK}")
run("${CMAKE_CTEST_COMMAND}" --test-dir "${WORK}" --output-on-failure --no-tests=error)
