// export.hpp - marks what weft's libraries give to programs.
#pragma once

/// The libraries are compiled with -fvisibility=hidden: what has this mark is visible outside of
/// them, and nothing else is. It stands before a function, and after the word `class` or `struct`
/// of a class whose functions are compiled into a library or that is thrown. Templates need none.
#define WEFT_EXPORT [[gnu::visibility("default")]]
