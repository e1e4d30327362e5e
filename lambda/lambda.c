/* <lambda>: a program compiled by diastase, called once with the arguments below. Build and run it:
 *
 *     cc -o program program.c -ldl -lm && ./program
 *
 * Prints the results, each on a line. Exits with 1 where the program fails, and says why on the
 * standard error; with 2 where a library cannot be loaded.
 */

#define _DEFAULT_SOURCE
#include <dlfcn.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum element { BOOL, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64, FLOAT16, BFLOAT16, FLOAT32, FLOAT64, COMPLEX64, COMPLEX128 };

struct import { const char *library, *function; };
struct site { const char *file; int line; const char *function, *construct; };

/* The state of a call: what went wrong, random numbers, the quantum states that are alive. */
struct context {
    int64_t code;
    int64_t site;
    int64_t detail[4];
    uint64_t seed;
    uint64_t counter;
    void *states;
    void *scripts;
    int64_t gates;
    int64_t operations;
    int64_t stages;
    int64_t memory;
    int64_t polls;
    void *outer;
};

/* Descriptors of arrays by rank, as MLIR's memrefs; strides are in elements. */
struct array_1 { void *allocated, *aligned; int64_t offset, sizes[1], strides[1]; };

static const char program[] = "lambda_library.so";

/* What the program's import table is to hold. */
static const struct import imports[] = {
    { "lambda_fourier.so", "diastase_fourier_transform_f64" },
    { "lambda_fourier.so", "diastase_fourier_transform_reals_f64" },
    {0}
};

/* The lines of the Python program at which it can fail, and how. */
static const struct site sites[] = {
    { "/tmp/h/cprog.py", 3, "<lambda>", "fft" },
    {0}
};
static const char *const errors[] = {
    [1] = "Wire out of range: {c} on wire {0} of a device with {1} wires\n  help: wires are numbered from 0; give the device more of them",
    [2] = "Overlapping wires: {c} names wire {0} more than once\n  help: the wires of one operation must all be different",
    [3] = "Out of memory: {c} asked for {0} bytes",
    [5] = "Step of zero: the step of {c} is 0",
    [6] = "Negative size: {c} makes an array of size {0}",
    [7] = "Impossible postselection: wire {0} is never measured as {1}",
    [8] = "Too many wires: {c}: a state of {0} wires cannot be made\n  help: a state vector of n wires takes 16 * 2**n bytes, a density matrix 8 * 4**n",
    [14] = "Negative number of wires: {c}: there is no state of {0} wires",
    [9] = "Sizes do not match: {c}: size {0} where {1} is needed",
    [10] = "Compiled for other sizes: the program assumes {c}; in this call it is {0} and {1}\n  help: call the function through qjit, which compiles it again for such sizes, or make the argument static (static_argnums)",
    [12] = "Invalid number of shots: {c} was called with {0} shots\n  help: the number of shots is positive; shots=None gives exact results",
    [11] = "Size too large: {c} needs the size {0}, its library allows {1}\n  help: the library counts rows, columns and workspace with 32 bits",
    [15] = "Not a number: {c}: the state has no probabilities, its amplitudes are NaN\n  help: a parameter of a gate before was NaN or infinite",
    [18] = "Not a channel: {c}: the channel does not preserve traces\n  help: the sum of K.conj().T @ K over its Kraus matrices K must be the identity",
    [17] = "Assertion failed: {c}",
    [13] = "Invalid value: {c}",
};

/* --- libraries ------------------------------------------------------------------------------- */

static void *library(const char *path)
{
    void *handle = dlopen(path, RTLD_NOW);
    if (!handle) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
    return handle;
}

static void *function(const char *path, const char *name)
{
    void *found = dlsym(library(path), name);
    if (!found) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
    return found;
}

static int64_t number_of_threads(void)
{
    const char *wanted = getenv("DIASTASE_NUM_THREADS");
    long threads = wanted ? strtol(wanted, NULL, 10) : sysconf(_SC_NPROCESSORS_ONLN);
    return threads < 1 ? 1 : threads > 1024 ? 1024 : threads;
}

static void start_libraries(void)
{
    (void)number_of_threads; /* where there are no libraries */
    ((void (*)(int64_t))function("lambda_threads.so", "diastase_threads_configure"))(number_of_threads());
    ((void (*)(void *, void *, void *, void *))function("lambda_fourier.so", "diastase_fourier_use_threads"))(
        function("lambda_threads.so", "diastase_threads_parallel_for"),
        function("lambda_threads.so", "diastase_threads_thread_count"),
        function("lambda_threads.so", "diastase_threads_poll"),
        function("lambda_threads.so", "diastase_threads_poll_now"));
}

/* --- results --------------------------------------------------------------------------------- */

static double from_float16(uint16_t bits)
{
    int exponent = bits >> 10 & 31;
    double mantissa = bits & 1023;
    double value = exponent == 31 ? (mantissa ? NAN : INFINITY)
                 : exponent       ? ldexp(mantissa + 1024, exponent - 25)
                                  : ldexp(mantissa, -24);
    return bits >> 15 ? -value : value;
}

static double from_bfloat16(uint16_t bits)
{
    uint32_t word = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &word, sizeof value);
    return value;
}

/* In as few digits as tell it from its neighbours. */
static void print_real(double value, bool is_single)
{
    char text[32];
    for (int digits = 1; digits <= 17; ++digits) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (is_single ? strtof(text, NULL) == (float)value : strtod(text, NULL) == value)
            break;
    }
    if (isnan(value))
        strcpy(text, "nan");
    printf("%s%s", text, strpbrk(text, ".en") ? "" : ".0");
}

static void print_complex(double real, double imaginary, bool is_single)
{
    putchar('(');
    print_real(real, is_single);
    if (isnan(imaginary) || !signbit(imaginary))
        putchar('+');
    print_real(imaginary, is_single);
    printf("j)");
}

static int print_element(enum element kind, const void *at)
{
    switch (kind) {
    case BOOL: return printf(*(const bool *)at ? "True" : "False");
    case INT8: return printf("%" PRId8, *(const int8_t *)at);
    case INT16: return printf("%" PRId16, *(const int16_t *)at);
    case INT32: return printf("%" PRId32, *(const int32_t *)at);
    case INT64: return printf("%" PRId64, *(const int64_t *)at);
    case UINT8: return printf("%" PRIu8, *(const uint8_t *)at);
    case UINT16: return printf("%" PRIu16, *(const uint16_t *)at);
    case UINT32: return printf("%" PRIu32, *(const uint32_t *)at);
    case UINT64: return printf("%" PRIu64, *(const uint64_t *)at);
    case FLOAT16: return print_real(from_float16(*(const uint16_t *)at), true), 0;
    case BFLOAT16: return print_real(from_bfloat16(*(const uint16_t *)at), true), 0;
    case FLOAT32: return print_real(*(const float *)at, true), 0;
    case FLOAT64: return print_real(*(const double *)at, false), 0;
    case COMPLEX64: return print_complex(((const float *)at)[0], ((const float *)at)[1], true), 0;
    case COMPLEX128:
        return print_complex(((const double *)at)[0], ((const double *)at)[1], false), 0;
    }
    return 0;
}

static void print_array(enum element kind, int64_t bytes, const char *at, int rank,
                        const int64_t *sizes, const int64_t *strides)
{
    if (rank == 0) {
        print_element(kind, at);
        return;
    }
    putchar('[');
    for (int64_t i = 0; i < sizes[0]; ++i) {
        if (i)
            printf(", ");
        print_array(kind, bytes, at + i * strides[0] * bytes, rank - 1, sizes + 1, strides + 1);
    }
    putchar(']');
}

/* Write `{0}` to `{3}` as the numbers of the error, `{c}` as what failed. */
static int fail(const struct context *context)
{
    int64_t known = sizeof errors / sizeof *errors;
    const char *text = context->code < known ? errors[context->code] : NULL;
    const char *construct = "<lambda>";
    const struct site *site = NULL;
    if (context->site >= 0 && context->site < (int64_t)(sizeof sites / sizeof *sites) - 1)
        site = &sites[context->site], construct = site->construct;
    for (; text && *text; ++text) {
        if (*text != '{' || text[1] == '\0' || text[2] != '}')
            fputc(*text, stderr);
        else if (text[1] == 'c')
            fputs(construct, stderr), text += 2;
        else
            fprintf(stderr, "%" PRId64, context->detail[text[1] - '0']), text += 2;
    }
    if (site && *site->file)
        fprintf(stderr, "\n  --> %s:%d in %s", site->file, site->line, site->function);
    fprintf(stderr, "\n");
    return 1;
}

/* --- arguments and the call ------------------------------------------------------------------ */

static double argument_0[] = { 0.0, 0.0, 1.0, 0.5, 2.0, 1.0, 3.0, 1.5 }; /* complex128[4] */

static struct {
    struct array_1 result_0;
    struct array_1 result_1;
} results;

static void call(void (*entry)(void **), struct context *context)
{
    struct array_1 array_0 = { argument_0, argument_0, 0, { 4 }, { 1 } };
    void *pointers[] = { &results, context, &array_0 };
    entry(pointers);
}

static void print_results(void)
{
    (void)print_array, (void)results; /* where there is nothing to print */
    printf("%s: ", "[0]");
    print_array(COMPLEX128, 16, results.result_0.aligned, 1, results.result_0.sizes, results.result_0.strides);
    printf("\n");
    printf("%s: ", "[1]");
    print_array(FLOAT64, 8, results.result_1.aligned, 1, results.result_1.sizes, results.result_1.strides);
    printf("\n");
}

static uint64_t seed(void)
{
    uint64_t bits = 0;
    FILE *source = fopen("/dev/urandom", "rb");
    if (!source || fread(&bits, sizeof bits, 1, source) != 1)
        bits = (uint64_t)getpid();
    return bits;
}

int main(void)
{
    struct context context = { 0 };
    context.seed = seed();
    context.memory = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);

    start_libraries();
    void *handle = library(program);
    void **table = dlsym(handle, "diastase_import_table");
    for (int i = 0; imports[i].library; ++i)
        table[i] = function(imports[i].library, imports[i].function);

    void (*entry)(void **);
    *(void **)&entry = function(program, "_mlir_ciface_diastase_entry");
    call(entry, &context);
    if (context.code)
        return fail(&context);
    print_results();
    return 0; /* what the results hold goes with the process */
}
