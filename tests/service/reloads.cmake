# Reloads, upgrades and kills of worker processes under load, in a very short form; `make reloads` runs the whole.
if(NOT TARGET weft_cli OR NOT TARGET tool_http_check)
    return()
endif()
add_test(NAME service.reloads COMMAND Python3::Interpreter "${CMAKE_CURRENT_LIST_DIR}/reloads/run" $<TARGET_FILE:weft_cli>
         $<TARGET_FILE:tool_http_check> --processes 2 --reloads 2 --upgrades 1 --kills 2 --alone)
set_tests_properties(service.reloads PROPERTIES TIMEOUT 300)
