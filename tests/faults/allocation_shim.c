// A library to preload into a program. It counts the requests for memory from main() on, and makes one of them, or one
// and all later ones, fail with ENOMEM: malloc, calloc, realloc, the aligned variants, and mmap of anonymous memory.
// pthread_create (EAGAIN) and posix_spawn count too, because they map a stack internally. Environment variables:
//   ALLOCATION_COUNTS=PATH  a 16-byte file that receives two native 64-bit numbers: all calls, and those that failed
//   ALLOCATION_FAIL=N       the N-th call fails, counted from 1
//   ALLOCATION_FAIL=N+      the N-th call and all later ones fail
// The variables and LD_PRELOAD are removed before main() begins, so commands that the program starts are unaffected.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

// glibc's own functions, which this file does not interpose.
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

struct Counts {
    _Atomic uint64_t calls, failed;
};

static struct Counts *counts;  // null until main() begins
static uint64_t failing_nth;   // the number of the call that fails; 0: none
static int fails_later;        // whether all later calls fail too

static int fails(void) {
    if (counts == NULL) return 0;
    const uint64_t number = atomic_fetch_add(&counts->calls, 1) + 1;
    const int hit = failing_nth != 0 && (fails_later ? number >= failing_nth : number == failing_nth);
    if (!hit) return 0;
    atomic_fetch_add(&counts->failed, 1);
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size) { return fails() ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return fails() ? NULL : __libc_calloc(count, size); }
void *realloc(void *old, size_t size) { return fails() ? NULL : __libc_realloc(old, size); }
void *memalign(size_t alignment, size_t size) { return fails() ? NULL : __libc_memalign(alignment, size); }
void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **to, size_t alignment, size_t size) {
    void *memory = memalign(alignment, size);
    if (memory == NULL) return ENOMEM;
    *to = memory;
    return 0;
}

void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset) {
    if ((flags & MAP_ANONYMOUS) != 0 && fails()) return MAP_FAILED;
    return (void *)syscall(SYS_mmap, at, size, protection, flags, fd, offset);
}

void *mmap64(void *at, size_t size, int protection, int flags, int fd, off64_t offset) {
    return mmap(at, size, protection, flags, fd, offset);
}

typedef int (*CreateThread)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
typedef int (*Spawn)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
                     char *const[], char *const[]);
typedef int (*Main)(int, char **, char **);
typedef int (*Start)(Main, int, char **, void (*)(void), void (*)(void), void (*)(void), void *);

static CreateThread create_thread;
static Spawn spawn;
static Main real_main;

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument) {
    return fails() ? EAGAIN : create_thread(thread, attributes, run, argument);
}

int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[]) {
    return fails() ? ENOMEM : spawn(pid, path, actions, attributes, arguments, environment);
}

static const char *setting(const char *name) {
    const char *value = getenv(name);
    return value != NULL ? value : "";
}

static int counted_main(int count, char **words, char **environment) {
    *(void **)&create_thread = dlsym(RTLD_NEXT, "pthread_create");
    *(void **)&spawn = dlsym(RTLD_NEXT, "posix_spawn");
    char *end = NULL;
    failing_nth = strtoull(setting("ALLOCATION_FAIL"), &end, 10);
    fails_later = *end == '+';
    const int file = open(setting("ALLOCATION_COUNTS"), O_RDWR | O_CLOEXEC);
    if (file < 0) abort();
    void *page = mmap(NULL, sizeof(struct Counts), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (page == MAP_FAILED) abort();
    close(file);
    unsetenv("LD_PRELOAD");
    unsetenv("ALLOCATION_FAIL");
    unsetenv("ALLOCATION_COUNTS");
    counts = page;
    return real_main(count, words, environment);
}

int __libc_start_main(Main main, int count, char **words, void (*begin)(void), void (*end)(void),
                      void (*end_of_loader)(void), void *stack_end) {
    Start start;
    *(void **)&start = dlsym(RTLD_NEXT, "__libc_start_main");
    real_main = main;
    return start(counted_main, count, words, begin, end, end_of_loader, stack_end);
}
