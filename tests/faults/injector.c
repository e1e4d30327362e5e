// Functions of the C library that fail when they are told to, for LD_PRELOAD (see injector.py).
//
// Armed, calls of one kind are counted in all threads; the call with number `first` fails with
// `failure`, and those after it as long as there are `times`. Calls that do not concern us are not
// counted: of files, only those below `below`; of memory, only what libraries below `below` ask
// for, which are compiled programs and the libraries that they call.
//
// Not armed, all of it is the C library's. Where a path cannot be found out, a call is not counted.

#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum kind { NONE, FILES, MEMORY, LIBRARIES, THREADS, PROCESSES };

static _Atomic int armed;
static atomic_long seen, struck;
static long first, times, ahead;
static int failure;
static char below[4096], place[4096];

// Each is looked up once; `dlsym` gives the definition after ours.
#define REAL(result, name, ...)                                  \
    static result (*real)(__VA_ARGS__);                          \
    if (!real) real = (result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

void faults_arm(int kind, long at, long count, int error, const char *folder) {
    armed = NONE;
    seen = struck = 0;
    first = at, times = count, failure = error;
    snprintf(below, sizeof below, "%s", folder);
    place[0] = 0;
    armed = kind;
}

void faults_disarm(void) { armed = NONE; }
long faults_seen(void) { return seen; }
long faults_struck(void) { return struck; }
const char *faults_place(void) { return place; }
void faults_clock(long seconds) { ahead = seconds; }

static int strikes(const char *function, const char *path) {
    long number = ++seen;
    if (number < first || number >= first + times) return 0;
    if (!struck++) snprintf(place, sizeof place, "%s %s", function, path);
    errno = failure;
    return 1;
}

static int concerns_us(const char *path) { return !strncmp(path, below, strlen(below)); }

static int of_descriptor(int descriptor, char *path, size_t size) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, size - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return 1;
}

static int fails(const char *function, int folder, const char *path) {
    if (armed != FILES || !path) return 0;
    char whole[8192], base[4096];
    if (path[0] != '/' && folder != AT_FDCWD && of_descriptor(folder, base, sizeof base)) {
        snprintf(whole, sizeof whole, "%s/%s", base, path);
        path = whole;
    }
    return concerns_us(path) && strikes(function, path);
}

static int fails_open(const char *function, int descriptor) {
    if (armed != FILES) return 0;
    int before = errno;
    char path[4096];
    int known = of_descriptor(descriptor, path, sizeof path);
    errno = before;
    return known && concerns_us(path) && strikes(function, path);
}

#define ON_PATH(result, failed, name, parameters, arguments, folder, path) \
    result name parameters {                                              \
        static result (*real) parameters;                                 \
        if (!real) real = (result(*) parameters)dlsym(RTLD_NEXT, #name);  \
        return fails(#name, folder, path) ? failed : real arguments;      \
    }
#define ON_OPEN(result, failed, name, parameters, arguments, descriptor)  \
    result name parameters {                                              \
        static result (*real) parameters;                                 \
        if (!real) real = (result(*) parameters)dlsym(RTLD_NEXT, #name);  \
        return fails_open(#name, descriptor) ? failed : real arguments;   \
    }

#define MODE(flags, mode)                                     \
    mode_t mode = 0;                                          \
    if ((flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE) { \
        va_list more;                                         \
        va_start(more, flags);                                \
        mode = va_arg(more, mode_t);                          \
        va_end(more);                                         \
    }

int open64(const char *path, int flags, ...) {
    MODE(flags, mode);
    REAL(int, open64, const char *, int, ...);
    return fails("open", AT_FDCWD, path) ? -1 : real(path, flags, mode);
}

int openat64(int folder, const char *path, int flags, ...) {
    MODE(flags, mode);
    REAL(int, openat64, int, const char *, int, ...);
    return fails("openat", folder, path) ? -1 : real(folder, path, flags, mode);
}

ON_PATH(int, -1, mkdir, (const char *path, mode_t mode), (path, mode), AT_FDCWD, path)
ON_PATH(int, -1, rmdir, (const char *path), (path), AT_FDCWD, path)
ON_PATH(int, -1, unlink, (const char *path), (path), AT_FDCWD, path)
ON_PATH(int, -1, unlinkat, (int folder, const char *path, int flags), (folder, path, flags), folder, path)
ON_PATH(int, -1, rename, (const char *from, const char *to), (from, to), AT_FDCWD, to)
ON_PATH(int, -1, chmod, (const char *path, mode_t mode), (path, mode), AT_FDCWD, path)
ON_PATH(int, -1, access, (const char *path, int mode), (path, mode), AT_FDCWD, path)
ON_PATH(int, -1, stat64, (const char *path, struct stat64 *status), (path, status), AT_FDCWD, path)
ON_PATH(int, -1, lstat64, (const char *path, struct stat64 *status), (path, status), AT_FDCWD, path)
ON_PATH(int, -1, fstatat64, (int folder, const char *path, struct stat64 *status, int flags),
        (folder, path, status, flags), folder, path)
ON_PATH(DIR *, NULL, opendir, (const char *path), (path), AT_FDCWD, path)

ON_OPEN(ssize_t, -1, read, (int file, void *to, size_t size), (file, to, size), file)
ON_OPEN(ssize_t, -1, write, (int file, const void *from, size_t size), (file, from, size), file)
ON_OPEN(int, -1, fstat64, (int file, struct stat64 *status), (file, status), file)
ON_OPEN(int, -1, fchmod, (int file, mode_t mode), (file, mode), file)
ON_OPEN(int, -1, flock, (int file, int operation), (file, operation), file)
ON_OPEN(off64_t, -1, lseek64, (int file, off64_t to, int from), (file, to, from), file)
ON_OPEN(DIR *, NULL, fdopendir, (int file), (file), file)
ON_OPEN(ssize_t, -1, sendfile64, (int to, int from, off64_t *at, size_t size), (to, from, at, size), to)
ON_OPEN(struct dirent64 *, NULL, readdir64, (DIR *folder), (folder), dirfd(folder))

int close(int file) {  // a file is closed even where that fails
    REAL(int, close, int);
    int failed = fails_open("close", file), error = errno, closed = real(file);
    if (failed) errno = error;
    return failed ? -1 : closed;
}

// Memory: who asks is known by the library that the return address lies in.
static int is_refused(const char *function, const void *caller) {
    if (armed != MEMORY) return 0;
    Dl_info info;
    int known = dladdr(caller, &info) && info.dli_fname && concerns_us(info.dli_fname);
    return known && strikes(function, info.dli_fname);
}

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t),
    *__libc_memalign(size_t, size_t);
#define CALLER __builtin_return_address(0)

void *malloc(size_t size) { return is_refused("malloc", CALLER) ? NULL : __libc_malloc(size); }
void *calloc(size_t number, size_t size) {
    return is_refused("calloc", CALLER) ? NULL : __libc_calloc(number, size);
}
void *realloc(void *memory, size_t size) {
    return is_refused("realloc", CALLER) ? NULL : __libc_realloc(memory, size);
}
void *aligned_alloc(size_t alignment, size_t size) {
    return is_refused("aligned_alloc", CALLER) ? NULL : __libc_memalign(alignment, size);
}

// The dynamic linker says why in `dlerror`: so it is given a file that is none.
void *dlopen(const char *path, int flags) {
    REAL(void *, dlopen, const char *, int);
    int failed = armed == LIBRARIES && path && concerns_us(path) && strikes("dlopen", path);
    return real(failed ? "/dev/null" : path, flags);
}

// Not XLA's, which ends the process without threads.
static int is_python_or_ours(const void *caller) {
    Dl_info info;
    if (!dladdr(caller, &info) || !info.dli_fname) return 0;
    const char *file = strrchr(info.dli_fname, '/');
    file = file ? file + 1 : info.dli_fname;
    return !strncmp(file, "python", 6) || !strncmp(file, "libpython", 9) ||
           concerns_us(info.dli_fname);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *), void *with) {
    REAL(int, pthread_create, pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    int fails = armed == THREADS && is_python_or_ours(CALLER) && strikes("pthread_create", "");
    return fails ? failure : real(thread, how, run, with);
}

int posix_spawn(pid_t *process, const char *path, const posix_spawn_file_actions_t *actions,
                const posix_spawnattr_t *how, char *const arguments[], char *const environment[]) {
    REAL(int, posix_spawn, pid_t *, const char *, const posix_spawn_file_actions_t *,
         const posix_spawnattr_t *, char *const[], char *const[]);
    if (armed == PROCESSES && strikes("posix_spawn", path)) return failure;
    return real(process, path, actions, how, arguments, environment);
}

pid_t fork(void) {
    REAL(pid_t, fork, void);
    return armed == PROCESSES && strikes("fork", "") ? -1 : real();
}

pid_t vfork(void) {  // which nothing may return from but its own caller: a `fork` may
    return fork();
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    REAL(int, clock_gettime, clockid_t, struct timespec *);
    int result = real(clock, time);
    if (!result && clock == CLOCK_REALTIME) time->tv_sec += ahead;
    return result;
}
