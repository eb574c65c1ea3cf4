#pragma once
// What only the build knows. Swift cannot be given values when it is compiled, so this is C, and numbers need no pointer.
#include <stdbool.h>
#include <stdint.h>

// The first 12 hexadecimal digits of the commit; 0 if it is not known.
uint64_t tg_build_commit(void);
// Whether tracked files differed from that commit.
bool tg_build_is_modified(void);
