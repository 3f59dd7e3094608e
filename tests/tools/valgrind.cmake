# The core's tests under Valgrind, from the ordinary build. In dev alone: sanitizers stand in Valgrind's place, and optimised code shows it
# less. `make valgrind` runs those too that take long.
if(WEFT_SANITIZE OR CMAKE_CROSSCOMPILING OR NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    return()
endif()
set(script "${CMAKE_CURRENT_LIST_DIR}/check_valgrind.py")
foreach(folder IN ITEMS base arch stack fiber sched sync flow)
    if(NOT TARGET ${folder}_test)   # WEFT_TEST_FOLDERS
        continue()
    endif()
    add_test(NAME valgrind.${folder} COMMAND Python3::Interpreter "${script}" $<TARGET_FILE:${folder}_test>)
    set_tests_properties(valgrind.${folder} PROPERTIES TIMEOUT 300 LABELS valgrind)
endforeach()

set(whole)
foreach(folder IN ITEMS base arch stack fiber sched sync io flow runtime actor)
    if(TARGET ${folder}_test)
        list(APPEND whole $<TARGET_FILE:${folder}_test>)
    endif()
endforeach()
add_custom_target(weft_valgrind COMMAND Python3::Interpreter "${script}" --whole ${whole} VERBATIM USES_TERMINAL)
