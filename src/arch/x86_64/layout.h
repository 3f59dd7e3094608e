// layout.h - where a suspended x86-64 stack keeps its registers, for compiler and assembler.
//
// Offsets from the saved stack pointer. `frame.hpp` compares them with the struct; tools/gdb may
// read them too.
#pragma once

#define WEFT_FRAME_R15 0
#define WEFT_FRAME_R14 8
#define WEFT_FRAME_R13 16
#define WEFT_FRAME_R12 24
#define WEFT_FRAME_RBX 32
#define WEFT_FRAME_RBP 40
#define WEFT_FRAME_RETURN 48
#define WEFT_FRAME_BYTES 56
