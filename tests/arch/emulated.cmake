# What tests cannot show under emulation (CMAKE_CROSSCOMPILING_EMULATOR): pattern, reason. `weft_left_out` is for weft_discover().
set(weft_left_out)
function(weft_leave_out pattern reason)
    message(STATUS "weft: left out under emulation: ${pattern}: ${reason}")
    set(weft_left_out "${weft_left_out}:${pattern}" PARENT_SCOPE)
endfunction()

weft_leave_out(*timing* "they measure time")
weft_leave_out(*_death.* "each is a process of its own, which would be started without the emulator")
