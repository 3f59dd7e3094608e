# The soak of the users service: a server with hogs and few descriptors, and a program that does to it all that happens to servers.
foreach(needed IN ITEMS users_service CLI11::CLI11)
    if(NOT TARGET ${needed})
        message(STATUS "weft: the soak of the service skipped: missing ${needed}")
        return()
    endif()
endforeach()

function(weft_soak_program target folder)
    file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/soak/${folder}/*.cpp")
    add_executable(${target} ${sources} ${ARGN})
    weft_compile_options(${target})
    target_include_directories(${target} PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}/support" "${PROJECT_SOURCE_DIR}/src")
    target_link_libraries(${target} PRIVATE CLI11::CLI11)
endfunction()

weft_soak_program(service_soak_server server)
weft_optimise(service_soak_server)
target_link_libraries(service_soak_server PRIVATE users_service)

weft_soak_program(service_soak service "${CMAKE_CURRENT_SOURCE_DIR}/soak/support/flatness.cpp"
                   "${CMAKE_CURRENT_SOURCE_DIR}/soak/support/expected_line.cpp")
target_include_directories(service_soak PRIVATE "${PROJECT_SOURCE_DIR}/examples/users")
target_link_libraries(service_soak PRIVATE weft weft_redis weft_http)
add_dependencies(service_soak service_soak_server)

# A short form of what `make soak` runs; and the same with faults planted in the server, which it must find.
# The first has the machine to itself: its own hogs are crowd enough, and it is judged by how few threads and how little memory it needs.
add_test(NAME soak.service COMMAND service_soak $<TARGET_FILE:service_soak_server> --seconds 20)
set_tests_properties(soak.service PROPERTIES TIMEOUT 300 LABELS soak RUN_SERIAL TRUE)
if(NOT WEFT_SANITIZE)   # the verdict is the same program everywhere
    foreach(fault IN ITEMS leak mistake straggler)
        add_test(NAME soak.finds_a_planted_${fault} COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/soak/check_fault.py"
                 $<TARGET_FILE:service_soak> $<TARGET_FILE:service_soak_server> ${fault})
        set_tests_properties(soak.finds_a_planted_${fault} PROPERTIES TIMEOUT 180 LABELS soak)
    endforeach()
endif()
