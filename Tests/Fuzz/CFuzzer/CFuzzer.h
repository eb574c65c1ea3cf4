#pragma once

#include <stddef.h>
#include <stdint.h>

/// Runs libFuzzer, which the option -sanitize=fuzzer links (https://llvm.org/docs/LibFuzzer.html).
int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*run)(const uint8_t *bytes, size_t count));
