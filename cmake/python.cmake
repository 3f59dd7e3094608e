# The Python package (python/CMakeLists.txt) in the build folder, and its tests, by the virtual environment that scripts/setup makes.
set(python "${PROJECT_SOURCE_DIR}/build/tools/python/bin/python")
if(NOT EXISTS "${PROJECT_SOURCE_DIR}/build/tools/python/complete")
    message(STATUS "weft: the Python package skipped: scripts/setup python makes build/tools/python, which it needs")
    return()
endif()
set(python_tests package fibers select blocking asyncio dump garbage seed_rows examples wheel)
if(WEFT_BUILD_http)
    list(APPEND python_tests serve asgi)
endif()
set(python_environment)
set(python_arguments)
if(WEFT_SANITIZE)
    # The interpreter is not compiled with the sanitizer, so its runtime is loaded before it. There is no such runtime for threads, and what
    # Python leaves behind at its end is no leak of ours. A wake takes longer than row L8 allows.
    if(NOT WEFT_SANITIZE MATCHES address OR NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
        message(STATUS "weft: the Python package skipped: its tests need the address sanitizer of clang, or none")
        return()
    endif()
    execute_process(COMMAND "${CMAKE_C_COMPILER}" "--print-file-name=libclang_rt.asan-${CMAKE_SYSTEM_PROCESSOR}.so"
                    OUTPUT_VARIABLE runtime OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    list(REMOVE_ITEM python_tests wheel)
    list(APPEND python_environment "LD_PRELOAD=${runtime}" "ASAN_OPTIONS=detect_leaks=0" PYTHONMALLOC=malloc)
    list(APPEND python_arguments --deselect=tests/test_seed_rows.py::test_seed_L8_idle_wakes_by_an_event_and_uses_no_cpu)
endif()
set(Python_EXECUTABLE "${python}")
add_subdirectory(python)

# Two tests of fibers fill the machine: `make python-all` has time for them.
list(APPEND python_arguments --deselect=tests/test_fibers.py::test_stress
     --deselect=tests/test_fibers.py::test_PYSTATE_3_fibers_go_on_beside_those_that_block_or_compute)

# Each compiles modules of Cython as a user would, which takes most of its time.
foreach(name IN LISTS python_tests)
    add_test(NAME python.${name} COMMAND "${python}" -m pytest -c "${PROJECT_SOURCE_DIR}/python/pyproject.toml"
             "${PROJECT_SOURCE_DIR}/python/tests/test_${name}.py" ${python_arguments})
    set_tests_properties(python.${name} PROPERTIES TIMEOUT 600 LABELS python
        ENVIRONMENT "PYTHONPATH=${PROJECT_BINARY_DIR}/python;PYTHONDONTWRITEBYTECODE=1;WEFT_C_LIBRARY=$<TARGET_FILE:weft_c>;${python_environment}")
endforeach()
