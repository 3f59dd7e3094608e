# bench/service/run in a very short form. With a sanitizer it would judge how fast that is.
if(NOT TARGET users_variants OR WEFT_SANITIZE)
    return()
endif()
add_test(NAME service.run.seed_N12_N13 COMMAND Python3::Interpreter "${CMAKE_CURRENT_LIST_DIR}/check_run.py"
         "${PROJECT_SOURCE_DIR}/bench/service/run" "${PROJECT_BINARY_DIR}")
set_tests_properties(service.run.seed_N12_N13 PROPERTIES TIMEOUT 180 RUN_SERIAL TRUE LABELS timing)
