/* $name: a function compiled by diastase, for programs in C and C++.
 *
 *     $signature
 *
 * Arrays are contiguous, in C's order, aligned as their elements are; they are read and not kept.
$described
 *
 * It returns 0, or the code of an error, of which ${name}_error tells in this thread until the next
 * call; then the results are empty. It may be called by many threads at once. The libraries beside it
 * are loaded at the first call; where that fails each call returns -1. DIASTASE_NUM_THREADS is the
 * number of threads.$assumptions
 */

#ifndef DIASTASE_EXPORT_$name
#define DIASTASE_EXPORT_$name

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Lengths of axes are in `…_sizes`; the memory is the caller's until it is freed. */
struct ${name}_results {
$fields
$kept
};

int $name($parameters);

void ${name}_free(struct ${name}_results *results);

const char *${name}_error(void);

#ifdef __cplusplus
}
#endif

#endif
