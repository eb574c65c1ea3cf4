#pragma once
// Values that only the build knows. SwiftPM cannot pass values to Swift code, but it can define C macros.
#include <stdbool.h>
#include <stdint.h>

// The first 12 hexadecimal digits of the commit; 0 if unknown.
uint64_t tg_build_commit(void);
// Whether tracked files differed from that commit.
bool tg_build_is_modified(void);
