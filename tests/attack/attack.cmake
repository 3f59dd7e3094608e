# The attacks: docs/design/attack.md says what each shows. In dev a fixed sample of each is a test with the label attack; `make attack` runs
# them whole. The sanitizers slow them too much, and stand where some of them stand; the fuzzers are theirs.
if(WEFT_SANITIZE OR NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    return()
endif()
if(NOT TARGET weft_http)
    message(STATUS "weft: the attacks skipped: missing weft_http")
    return()
endif()

set(attack_folder "${CMAKE_CURRENT_LIST_DIR}")
set(attack_programs)
function(weft_attack_program name)
    add_executable(attack_${name} ${ARGN})
    weft_compile_options(attack_${name})
    target_include_directories(attack_${name} PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}/support" "${PROJECT_SOURCE_DIR}/src")
    set_target_properties(attack_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/attack")
    set(attack_programs ${attack_programs} attack_${name} PARENT_SCOPE)
endfunction()

# Debian's Python has h11; another Python that is found first may not.
set(attack_python)
foreach(candidate IN ITEMS "${Python3_EXECUTABLE}" /usr/bin/python3)
    execute_process(COMMAND "${candidate}" -c "import h11" RESULT_VARIABLE without_h11 OUTPUT_QUIET ERROR_QUIET)
    if(without_h11 EQUAL 0)
        set(attack_python "${candidate}")
        break()
    endif()
endforeach()
find_path(llhttp_headers llhttp.h PATHS /usr/share/include/llhttp /usr/include/llhttp)
find_path(llhttp_sources llhttp.c PATHS /usr/share/llhttp /usr/share/nodejs/llhttp NO_DEFAULT_PATH)
mark_as_advanced(llhttp_headers llhttp_sources)
set(with_differences ON)
if(NOT attack_python OR NOT llhttp_headers OR NOT llhttp_sources)
    message(STATUS "weft: the comparison with h11 and llhttp skipped: missing python3-h11 or node-llhttp (scripts/setup build)")
    set(attack_python "${Python3_EXECUTABLE}")
    set(with_differences OFF)
endif()

execute_process(COMMAND "${attack_python}" -c "import h11, aiohttp" RESULT_VARIABLE without_clients OUTPUT_QUIET ERROR_QUIET)
find_program(attack_curl curl)
mark_as_advanced(attack_curl)
set(with_clients ON)
if(NOT without_clients EQUAL 0 OR NOT attack_curl)
    message(STATUS "weft: clients of others skipped: missing curl, python3-aiohttp or python3-h11 (scripts/setup build)")
    set(with_clients OFF)
endif()

weft_attack_program(server "${attack_folder}/http/server.cpp")
target_link_libraries(attack_server PRIVATE weft_http)

if(with_differences)
    enable_language(C)
    file(GLOB llhttp_files "${llhttp_sources}/*.c")
    add_library(attack_llhttp STATIC ${llhttp_files})
    target_include_directories(attack_llhttp SYSTEM PUBLIC "${llhttp_headers}")
    target_compile_options(attack_llhttp PRIVATE -w)   # not ours to mend
    weft_attack_program(readers "${attack_folder}/http/readers.cpp" "${attack_folder}/http/weft_reader.cpp"
                        "${attack_folder}/http/llhttp_reader.cpp")
    target_link_libraries(attack_readers PRIVATE weft_http attack_llhttp)
endif()

weft_attack_program(refused "${attack_folder}/calls/refused.cpp" "${attack_folder}/calls/small_program.cpp")
target_link_libraries(attack_refused PRIVATE weft)

weft_attack_program(failing "${attack_folder}/memory/failing.cpp" "${attack_folder}/calls/small_program.cpp")
target_link_libraries(attack_failing PRIVATE weft)

if(TARGET CLI11::CLI11)
    file(GLOB chaos_sources CONFIGURE_DEPENDS "${attack_folder}/chaos/*.cpp")
    weft_attack_program(chaos ${chaos_sources})
    target_link_libraries(attack_chaos PRIVATE weft CLI11::CLI11)
endif()

# The samples: check_NAME.py, given the folder of the programs.
foreach(attack IN ITEMS table differences resets clients memory refused failing chaos)
    if((attack STREQUAL differences AND NOT with_differences) OR (attack STREQUAL clients AND NOT with_clients) OR
       (attack STREQUAL chaos AND NOT TARGET attack_chaos))
        continue()
    endif()
    file(GLOB script "${attack_folder}/*/check_${attack}.py")
    add_test(NAME attack.${attack} COMMAND "${attack_python}" "${script}" "${PROJECT_BINARY_DIR}/attack")
    set_tests_properties(attack.${attack} PROPERTIES TIMEOUT 300 LABELS attack)
endforeach()

add_custom_target(weft_attack DEPENDS ${attack_programs})
