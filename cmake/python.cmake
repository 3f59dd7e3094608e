# The Python package (python/CMakeLists.txt) in the build folder, and its tests, by the virtual environment that scripts/setup makes.
set(python "${PROJECT_SOURCE_DIR}/build/tools/python/bin/python")
if(NOT EXISTS "${PROJECT_SOURCE_DIR}/build/tools/python/complete")
    message(STATUS "weft: the Python package skipped: scripts/setup python makes build/tools/python, which it needs")
    return()
endif()
set(Python_EXECUTABLE "${python}")
add_subdirectory(python)

# Each compiles modules of Cython as a user would, which takes most of its time.
foreach(name IN ITEMS package fibers seed_rows examples wheel)
    add_test(NAME python.${name} COMMAND "${python}" -m pytest -c "${PROJECT_SOURCE_DIR}/python/pyproject.toml"
             "${PROJECT_SOURCE_DIR}/python/tests/test_${name}.py")
    set_tests_properties(python.${name} PROPERTIES TIMEOUT 600 LABELS python
        ENVIRONMENT "PYTHONPATH=${PROJECT_BINARY_DIR}/python;PYTHONDONTWRITEBYTECODE=1;WEFT_C_LIBRARY=$<TARGET_FILE:weft_c>")
endforeach()
