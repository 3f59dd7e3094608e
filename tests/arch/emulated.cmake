# What tests cannot show under emulation (CMAKE_CROSSCOMPILING_EMULATOR): pattern, reason. `weft_left_out` is for weft_discover().
set(weft_left_out)
function(weft_leave_out pattern reason)
    message(STATUS "weft: left out under emulation: ${pattern}: ${reason}")
    set(weft_left_out "${weft_left_out}:${pattern}" PARENT_SCOPE)
endfunction()

weft_leave_out("*timing*" "they measure time")
weft_leave_out("*_death.*" "each is a process of its own, which would be started without the emulator")
weft_leave_out("refusals.*" "the system calls they forbid are the emulator's own, by the numbers of another processor")
weft_leave_out("*burst_memory.*" "each is a process of its own, as above")
weft_leave_out("blocked_in.*:hog_reports.C3_one_that_blocks_*:hog_reports.are_a_line_on_stderr_*" "the kernel names the call that the emulator is in, by the host's number")
weft_leave_out("*processes.E4_that_cannot_start_say_so*" "qemu-user makes a fork of a vfork, and how exec failed comes through shared memory")
weft_leave_out("*hand_off.C2_*" "they measure how long others wait")
