# How many instructions the servers need for a request, in the ordinary build: no change may lose what was saved. Callgrind counts the same
# each time; `make instructions` counts those of the optimised build.
if(WEFT_SANITIZE OR CMAKE_CROSSCOMPILING OR NOT CMAKE_BUILD_TYPE STREQUAL "Debug" OR NOT WEFT_ARCH STREQUAL "x86_64"
   OR NOT TARGET weft_cli OR NOT TARGET example_echo)
    return()
endif()
add_test(NAME instructions.budget COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/bench/instructions/run"
         --build "${PROJECT_BINARY_DIR}" --budgets "${PROJECT_SOURCE_DIR}/bench/instructions/dev.json")
set_tests_properties(instructions.budget PROPERTIES TIMEOUT 300 PROCESSORS 2 LABELS instructions)
