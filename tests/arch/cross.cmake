# What only a build for another processor has: the switch in more ways of compiling, and gdb looking at it from outside, as there is no
# trap flag to step by.
find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)   # not run by its target's name: CMake would emulate it
file(GLOB variant_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/arch/*.cpp" "${PROJECT_SOURCE_DIR}/src/arch/${WEFT_ARCH}/*.cpp"
     "${PROJECT_SOURCE_DIR}/src/arch/${WEFT_ARCH}/*.S" "${PROJECT_SOURCE_DIR}/src/base/*.cpp" "${CMAKE_CURRENT_LIST_DIR}/*_test.cpp")
set(plain -O0)
set(protected -O2 -mbranch-protection=standard)
foreach(variant IN ITEMS plain protected)
    set(target arch_${variant}_test)
    add_executable(${target} ${variant_sources})
    weft_compile_options(${target} LENIENT)
    target_compile_options(${target} PRIVATE ${${variant}})
    target_link_libraries(${target} PRIVATE GTest::gmock GTest::gtest_main Threads::Threads)
    target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/tests")
    weft_discover(${target} TEST_PREFIX ${variant}.)
endforeach()

find_program(WEFT_GDB_MULTIARCH NAMES gdb-multiarch REQUIRED)
mark_as_advanced(WEFT_GDB_MULTIARCH)
add_executable(gdb_switches "${PROJECT_SOURCE_DIR}/tests/gdb/switches.cpp")
weft_compile_options(gdb_switches LENIENT)
target_compile_options(gdb_switches PRIVATE -g)
target_include_directories(gdb_switches PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/tests")
target_link_libraries(gdb_switches PRIVATE weft)
add_test(NAME gdb.switches COMMAND ${Python3_EXECUTABLE} "${PROJECT_SOURCE_DIR}/tests/gdb/check_switches.py" "${WEFT_GDB_MULTIARCH}"
                                   $<TARGET_FILE:gdb_switches> ${CMAKE_CROSSCOMPILING_EMULATOR} -cpu cortex-a57)   # short vectors, for gdb
set_tests_properties(gdb.switches PROPERTIES TIMEOUT 300)
