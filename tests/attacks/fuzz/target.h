/* What a target gives to libFuzzer, or to the driver that stands in for it. */
#ifndef FAIRAUDIT_FUZZ_TARGET_H
#define FAIRAUDIT_FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>

/* Takes one input; 0, as libFuzzer asks. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* How many inputs were sound, and counted to their end. */
extern uint64_t counted_inputs;

/* Bytes that mean something to what is fuzzed. */
extern const uint8_t known_signs[];
extern const size_t known_sign_count;

#endif
