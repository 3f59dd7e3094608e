#include <stdatomic.h>   // BAD
