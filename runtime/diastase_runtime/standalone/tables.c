struct import { const char *library, *function; };
struct site { const char *file; int line; const char *function, *construct; };

/* The state of a call: what went wrong, random numbers, the quantum states that are alive. */
struct context {
$context
};

/* Descriptors of arrays by rank, as MLIR's memrefs; strides are in elements. */
$descriptors

static const char program[] = $library;

/* What the program's import table is to hold. */
static const struct import imports[] = {
$imports
    {0}
};

/* The lines of the Python program at which it can fail, and how. */
static const struct site sites[] = {
$sites
    {0}
};
static const char *const errors[] = {
$errors
};

static int64_t number_of_threads(void)
{
    const char *wanted = getenv("$threads_variable");
    long threads = wanted ? strtol(wanted, NULL, 10) : sysconf(_SC_NPROCESSORS_ONLN);
    return threads < 1 ? 1 : threads > $most_threads ? $most_threads : threads;
}
