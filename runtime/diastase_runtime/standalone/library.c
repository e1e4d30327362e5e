/* $name, compiled by diastase: see $header. Build it beside the libraries that it loads:
 *
 *     cc -O1 -shared -fPIC -fvisibility=hidden -o lib${name}.so ${name}.c -ldl -lm -lpthread
 */

#define _GNU_SOURCE
#include "$header"
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

$tables

static _Thread_local char message[1024];

static void tell(const char *format, ...)
{
    size_t length = strlen(message);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message + length, sizeof message - length, format, arguments);
    va_end(arguments);
}

$export const char *${name}_error(void) { return message; }

/* --- libraries ------------------------------------------------------------------------------- */

static char failure[1024]; /* of loading them; nothing where there was none */

static void *library(const char *name)
{
    char path[PATH_MAX];
    Dl_info own;
    /* Ours lie beside this one; SciPy's where they were when it was exported. */
    const char *end = *name != '/' && dladdr((void *)failure, &own) ? strrchr(own.dli_fname, '/') : NULL;
    int folder = end ? (int)(end - own.dli_fname) + 1 : 0;
    snprintf(path, sizeof path, "%.*s%s", folder, end ? own.dli_fname : "", name);
    if (*name != '/' && !end)
        snprintf(path, sizeof path, "./%s", name);
    void *handle = dlopen(path, RTLD_NOW);
    if (!handle && !*failure)
        snprintf(failure, sizeof failure, "%s", dlerror());
    return handle;
}

static void *function(const char *path, const char *name)
{
    void *handle = library(path), *found = handle ? dlsym(handle, name) : NULL;
    if (!found && !*failure)
        snprintf(failure, sizeof failure, "%s has no %s", path, name);
    return found;
}

static void (*entry)(void **);

static void start(void)
{
    (void)number_of_threads; /* where there are no libraries */
    /* What the libraries take to be there, whoever has loaded this one. */
    (void)dlopen("libm.so.6", RTLD_NOW | RTLD_GLOBAL);
    (void)dlopen("libpthread.so.0", RTLD_NOW | RTLD_GLOBAL);
$check
    if (*failure)
        return;
$start
    if (*failure)
        return;
    void *handle = library(program);
    void **table = handle && imports->library ? dlsym(handle, "$table") : NULL;
    for (int i = 0; table && imports[i].library; ++i)
        table[i] = function(imports[i].library, imports[i].function);
    *(void **)&entry = function(program, "$entry");
}

/* --- calls ----------------------------------------------------------------------------------- */

/* Write `{0}` to `{3}` as the numbers of the error, `{c}` as what failed. */
static void describe(const struct context *context)
{
    int64_t known = sizeof errors / sizeof *errors;
    const char *text = context->code < known ? errors[context->code] : NULL;
    const char *construct = $quoted_name;
    const struct site *site = NULL;
    if (context->site >= 0 && context->site < (int64_t)(sizeof sites / sizeof *sites) - 1)
        site = &sites[context->site], construct = site->construct;
    for (; text && *text; ++text) {
        if (*text != '{' || text[1] == '\0' || text[2] != '}')
            tell("%c", *text);
        else if (text[1] == 'c')
            tell("%s", construct), text += 2;
        else
            tell("%lld", (long long)context->detail[text[1] - '0']), text += 2;
    }
    if (site && *site->file)
        tell("\n  --> %s:%d in %s", site->file, site->line, site->function);
}

static uint64_t seed(void)
{
    $seed
}

struct results {
$descriptors_of_results
};

static void free_all(void **allocated, int count)
{
    for (int i = 0; i < count; ++i) {
        for (int j = i + 1; j < count; ++j) /* several results may be the same memory */
            if (allocated[j] == allocated[i])
                allocated[j] = NULL;
        free(allocated[i]);
    }
}

$export int $name($parameters)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start);
    *message = '\0';
    memset(results, 0, sizeof *results);
    if (*failure) {
        tell("%s", failure);
        return -1;
    }
$sizes
    struct results made = { 0 };
    struct context context = { 0 };
    context.seed = seed();
    context.memory = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
$arrays
    void *pointers[] = { $pointers };
    entry(pointers);
    void *allocated[] = { $allocated NULL };
    if (context.code) {
        if (!context.detail[3])
            free_all(allocated, $count);
        describe(&context);
$release
        return (int)context.code;
    }
$given
    (void)allocated, (void)made, (void)free_all;
    return 0;
}

$export void ${name}_free(struct ${name}_results *results)
{
    void *allocated[] = { $allocated_given NULL };
    free_all(allocated, $count);
    memset(results, 0, sizeof *results);
}
