// layout.h - where a suspended aarch64 stack keeps its registers, for compiler and assembler.
//
// Offsets from the saved stack pointer. `frame.hpp` compares them with the struct.
#pragma once

#define WEFT_FRAME_X29 0
#define WEFT_FRAME_X30 8
#define WEFT_FRAME_X19 16
#define WEFT_FRAME_X20 24
#define WEFT_FRAME_X21 32
#define WEFT_FRAME_X22 40
#define WEFT_FRAME_X23 48
#define WEFT_FRAME_X24 56
#define WEFT_FRAME_X25 64
#define WEFT_FRAME_X26 72
#define WEFT_FRAME_X27 80
#define WEFT_FRAME_X28 88
#define WEFT_FRAME_D8 96
#define WEFT_FRAME_D9 104
#define WEFT_FRAME_D10 112
#define WEFT_FRAME_D11 120
#define WEFT_FRAME_D12 128
#define WEFT_FRAME_D13 136
#define WEFT_FRAME_D14 144
#define WEFT_FRAME_D15 152
#define WEFT_FRAME_BYTES 160
