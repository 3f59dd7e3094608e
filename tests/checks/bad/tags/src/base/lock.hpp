// lock.hpp - a lock.
//
// Invariants
//   LOCK-1  It has one holder (LOCK-2).
//   LOCK-2  A waiter waits.
//   LATCH-1  This is not the name of the file: BAD
//   LOCK-2  This is defined twice: BAD
#pragma once

inline int held = 0;     // LOCK-1; text is UTF-8, and C11 has such locks
inline int waiters = 0;  // LOCK-9 is defined nowhere: BAD
inline int turns = 0;    // T4 says only a letter: BAD
inline const char* text = "T4 and LOCK-9 in a text are no citations";
