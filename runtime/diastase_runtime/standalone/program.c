/* $name: a program compiled by diastase, called once with the arguments below. Build and run it:
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

enum element { $elements };

$tables

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

static void start_libraries(void)
{
    (void)number_of_threads; /* where there are no libraries */
$start
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
    const char *construct = $quoted_name;
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

$arguments
static struct {
$results
} results;

static void call(void (*entry)(void **), struct context *context)
{
$arrays
    void *pointers[] = { $pointers };
    entry(pointers);
}

static void print_results(void)
{
    (void)print_array, (void)results; /* where there is nothing to print */
$printed
}

static uint64_t seed(void)
{
    $seed
}

int main(void)
{
    struct context context = { 0 };
    context.seed = seed();
    context.memory = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);

    start_libraries();
    void *handle = library(program);
    void **table = dlsym(handle, "$table");
    for (int i = 0; imports[i].library; ++i)
        table[i] = function(imports[i].library, imports[i].function);

    void (*entry)(void **);
    *(void **)&entry = function(program, "$entry");
    call(entry, &context);
    if (context.code)
        return fail(&context);
    print_results();
    return 0; /* what the results hold goes with the process */
}
