// A library to preload into a program. It makes some of the system calls go wrong in ways that can really happen:
// transfers that are shorter than asked for, EINTR, errors. Environment variables control it:
//   SHIM_SEED=N        which calls are hit; with the same seed, a single thread is hit at the same calls
//   SHIM_SHORT=P       P percent of transfers move at least one byte, but fewer than asked for
//   SHIM_EINTR=P       P percent of transfers, and of poll() calls, are interrupted before anything has happened
//   SHIM_ROOM=N:E      there is room for N bytes in all files and pipes together; beyond that, errno E
//   SHIM_FAIL=CALL:N:E the N-th call of CALL (0: each) fails with errno E; a close() that fails still closes
//   SHIM_LACKS=A,B     what the file system does not have: tmpfile (O_TMPFILE), rename_flags, links, proc (neither the
//                      privilege nor the /proc that it takes to give a name to a file without one)
//   SHIM_LOG=PATH      gets a line for each call that went wrong; opened at the start, because the
//                      program may lose the right to open it
// Only transfers to and from regular files, pipes and FIFOs count; standard error is left alone.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static struct {
    uint64_t seed;
    unsigned percent_short, percent_interrupted;
    int has_room, room_errno;
    uint64_t room;
    char failing[32];
    unsigned failing_nth;
    int failing_errno;
    int lacks_tmpfile, lacks_rename_flags, lacks_links, lacks_proc;
    int log;
} settings = {.log = -1};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uint64_t drawn;         // guarded by the mutex, like the variables below
static uint64_t room_taken;
static unsigned failing_seen;

enum { kLogDescriptor = 500 };

static const char *setting(const char *name) {
    const char *value = getenv(name);
    return value != NULL ? value : "";
}

static void read_settings(void) {
    settings.seed = strtoull(setting("SHIM_SEED"), NULL, 10);
    settings.percent_short = (unsigned)strtoul(setting("SHIM_SHORT"), NULL, 10);
    settings.percent_interrupted = (unsigned)strtoul(setting("SHIM_EINTR"), NULL, 10);
    unsigned long long room = 0;
    settings.has_room = sscanf(setting("SHIM_ROOM"), "%llu:%d", &room, &settings.room_errno) == 2;
    settings.room = room;
    if (sscanf(setting("SHIM_FAIL"), "%31[^:]:%u:%d", settings.failing, &settings.failing_nth,
               &settings.failing_errno) != 3) {
        settings.failing[0] = '\0';
    }
    settings.lacks_tmpfile = strstr(setting("SHIM_LACKS"), "tmpfile") != NULL;
    settings.lacks_rename_flags = strstr(setting("SHIM_LACKS"), "rename_flags") != NULL;
    settings.lacks_links = strstr(setting("SHIM_LACKS"), "links") != NULL;
    settings.lacks_proc = strstr(setting("SHIM_LACKS"), "proc") != NULL;
    // A high number, so that the program gets the same descriptors as without the shim.
    const long log = syscall(SYS_openat, AT_FDCWD, setting("SHIM_LOG"), O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (log < 0) return;
    settings.log = fcntl((int)log, F_DUPFD_CLOEXEC, kLogDescriptor);
    syscall(SYS_close, log);
}

__attribute__((constructor)) static void begin(void) { pthread_once(&once, read_settings); }

// The next number of a sequence (splitmix64), below 100.
static unsigned draw_percent(void) {
    uint64_t z = settings.seed * 0xD1342543DE82EF95u + ++drawn * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (unsigned)((z ^ (z >> 31)) % 100);
}

// Uses system calls directly, which this file does not interpose.
static void tell(const char *call, long asked, long result) {
    char line[96];
    const int size = snprintf(line, sizeof line, "%s asked %ld got %ld\n", call, asked, result);
    if (settings.log >= 0) syscall(SYS_write, settings.log, line, (size_t)size);
}

// Whether this call is the one that must fail; sets errno.
static int fails(const char *call) {
    pthread_once(&once, read_settings);
    if (strcmp(call, settings.failing) != 0) return 0;
    pthread_mutex_lock(&mutex);
    const int hit = ++failing_seen == settings.failing_nth || settings.failing_nth == 0;
    pthread_mutex_unlock(&mutex);
    if (!hit) return 0;
    tell(call, 0, -settings.failing_errno);
    errno = settings.failing_errno;
    return 1;
}

static int lacks(const char *call, int what, int error) {
    if (!what) return 0;
    tell(call, 0, -error);
    errno = error;
    return 1;
}

static int is_file_or_pipe(int descriptor) {
    struct stat status;
    return descriptor >= 0 && descriptor != STDERR_FILENO &&
           syscall(SYS_newfstatat, descriptor, "", &status, AT_EMPTY_PATH) == 0 &&
           (S_ISREG(status.st_mode) || S_ISFIFO(status.st_mode));
}

// How many of the requested bytes this transfer may move; -1, with errno set, if it fails.
static ssize_t allowed(const char *call, int descriptor, size_t asked, int takes_room) {
    if (fails(call)) return -1;
    const int idle = settings.percent_short == 0 && settings.percent_interrupted == 0 && !settings.has_room;
    if (idle || asked == 0 || !is_file_or_pipe(descriptor)) return (ssize_t)asked;
    size_t size = asked;
    int error = 0;
    pthread_mutex_lock(&mutex);
    if (draw_percent() < settings.percent_interrupted) {
        error = EINTR;
    } else {
        if (size > 1 && draw_percent() < settings.percent_short) size = 1 + (size - 1) * draw_percent() / 100;
        if (takes_room && settings.has_room) {
            const uint64_t left = settings.room - room_taken;
            if (left == 0) error = settings.room_errno;
            if (size > left) size = (size_t)left;
            room_taken += size;
        }
    }
    pthread_mutex_unlock(&mutex);
    if (error == 0 && size == asked) return (ssize_t)size;
    tell(call, (long)asked, error != 0 ? -error : (long)size);
    errno = error;
    return error != 0 ? -1 : (ssize_t)size;
}

// The function that this one interposes.
#define NEXT(type, name, ...)                                    \
    static type (*next)(__VA_ARGS__);                            \
    if (next == NULL) *(void **)&next = dlsym(RTLD_NEXT, name)

ssize_t read(int fd, void *to, size_t size) {
    NEXT(ssize_t, "read", int, void *, size_t);
    const ssize_t part = allowed("read", fd, size, 0);
    return part < 0 ? -1 : next(fd, to, (size_t)part);
}

ssize_t __read_chk(int fd, void *to, size_t size, size_t room);
ssize_t __read_chk(int fd, void *to, size_t size, size_t room) {
    NEXT(ssize_t, "__read_chk", int, void *, size_t, size_t);
    const ssize_t part = allowed("read", fd, size, 0);
    return part < 0 ? -1 : next(fd, to, (size_t)part, room);
}

ssize_t pread(int fd, void *to, size_t size, off_t offset) {
    NEXT(ssize_t, "pread64", int, void *, size_t, off_t);
    const ssize_t part = allowed("pread", fd, size, 0);
    return part < 0 ? -1 : next(fd, to, (size_t)part, offset);
}

ssize_t pread64(int fd, void *to, size_t size, off_t offset) { return pread(fd, to, size, offset); }

ssize_t __pread_chk(int fd, void *to, size_t size, off_t offset, size_t room);
ssize_t __pread_chk(int fd, void *to, size_t size, off_t offset, size_t room) {
    NEXT(ssize_t, "__pread64_chk", int, void *, size_t, off_t, size_t);
    const ssize_t part = allowed("pread", fd, size, 0);
    return part < 0 ? -1 : next(fd, to, (size_t)part, offset, room);
}

ssize_t __pread64_chk(int fd, void *to, size_t size, off_t offset, size_t room);
ssize_t __pread64_chk(int fd, void *to, size_t size, off_t offset, size_t room) {
    return __pread_chk(fd, to, size, offset, room);
}

// Calls with vectors: the vector is shortened to the bytes that may move.
enum { kMaxVectors = 64 };

static size_t size_of(const struct iovec *vectors, int count) {
    size_t size = 0;
    for (int i = 0; i < count; ++i) size += vectors[i].iov_len;
    return size;
}

static int cut_vectors(const struct iovec *from, int count, size_t size, struct iovec *to) {
    int used = 0;
    for (; used < count && used < kMaxVectors && size > 0; ++used) {
        to[used] = from[used];
        if (to[used].iov_len > size) to[used].iov_len = size;
        size -= to[used].iov_len;
    }
    return used;
}

ssize_t preadv2(int fd, const struct iovec *vectors, int count, off_t offset, int flags) {
    NEXT(ssize_t, "preadv64v2", int, const struct iovec *, int, off_t, int);
    struct iovec cut[kMaxVectors];
    const ssize_t part = allowed("preadv2", fd, size_of(vectors, count), 0);
    return part < 0 ? -1 : next(fd, cut, cut_vectors(vectors, count, (size_t)part, cut), offset, flags);
}

ssize_t preadv64v2(int fd, const struct iovec *vectors, int count, off_t offset, int flags) {
    return preadv2(fd, vectors, count, offset, flags);
}

ssize_t write(int fd, const void *from, size_t size) {
    NEXT(ssize_t, "write", int, const void *, size_t);
    const ssize_t part = allowed("write", fd, size, 1);
    return part < 0 ? -1 : next(fd, from, (size_t)part);
}

ssize_t pwrite(int fd, const void *from, size_t size, off_t offset) {
    NEXT(ssize_t, "pwrite64", int, const void *, size_t, off_t);
    const ssize_t part = allowed("pwrite", fd, size, 1);
    return part < 0 ? -1 : next(fd, from, (size_t)part, offset);
}

ssize_t pwrite64(int fd, const void *from, size_t size, off_t offset) { return pwrite(fd, from, size, offset); }

ssize_t writev(int fd, const struct iovec *vectors, int count) {
    NEXT(ssize_t, "writev", int, const struct iovec *, int);
    struct iovec cut[kMaxVectors];
    const ssize_t part = allowed("writev", fd, size_of(vectors, count), 1);
    return part < 0 ? -1 : next(fd, cut, cut_vectors(vectors, count, (size_t)part, cut));
}

ssize_t copy_file_range(int from, off64_t *from_at, int to, off64_t *to_at, size_t size, unsigned flags) {
    NEXT(ssize_t, "copy_file_range", int, off64_t *, int, off64_t *, size_t, unsigned);
    const ssize_t part = allowed("copy_file_range", to, size, 1);
    return part < 0 ? -1 : next(from, from_at, to, to_at, (size_t)part, flags);
}

int poll(struct pollfd *waits, nfds_t count, int timeout_ms) {
    NEXT(int, "poll", struct pollfd *, nfds_t, int);
    if (fails("poll")) return -1;
    pthread_mutex_lock(&mutex);
    const int interrupted = draw_percent() < settings.percent_interrupted;
    pthread_mutex_unlock(&mutex);
    if (!interrupted) return next(waits, count, timeout_ms);
    tell("poll", (long)count, -EINTR);
    errno = EINTR;
    return -1;
}

// The mode is passed on even if the caller gave none, because reading it is harmless here.
#define MODE_AFTER(last)        \
    va_list rest;               \
    va_start(rest, last);       \
    const mode_t mode = va_arg(rest, mode_t); \
    va_end(rest)

static int lacks_flags_of(int flags) {
    pthread_once(&once, read_settings);
    return (flags & O_TMPFILE) == O_TMPFILE && lacks("O_TMPFILE", settings.lacks_tmpfile, EOPNOTSUPP);
}

int open(const char *path, int flags, ...) {
    NEXT(int, "open64", const char *, int, mode_t);
    MODE_AFTER(flags);
    return lacks_flags_of(flags) || fails("open") ? -1 : next(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    MODE_AFTER(flags);
    return open(path, flags, mode);
}

int openat(int directory, const char *path, int flags, ...) {
    NEXT(int, "openat64", int, const char *, int, mode_t);
    MODE_AFTER(flags);
    return lacks_flags_of(flags) || fails("openat") ? -1 : next(directory, path, flags, mode);
}

int openat64(int directory, const char *path, int flags, ...) {
    MODE_AFTER(flags);
    return openat(directory, path, flags, mode);
}

int close(int fd) {
    NEXT(int, "close", int);
    if (!is_file_or_pipe(fd) || !fails("close")) return next(fd);
    next(fd);
    errno = settings.failing_errno;
    return -1;
}

int renameat2(int from, const char *old_name, int to, const char *new_name, unsigned flags) {
    NEXT(int, "renameat2", int, const char *, int, const char *, unsigned);
    if (fails("renameat2")) return -1;
    if (flags != 0 && lacks("renameat2", settings.lacks_rename_flags, EINVAL)) return -1;
    return next(from, old_name, to, new_name, flags);
}

int linkat(int from, const char *old_name, int to, const char *new_name, int flags) {
    NEXT(int, "linkat", int, const char *, int, const char *, int);
    if (fails("linkat") || lacks("linkat", settings.lacks_links, EPERM)) return -1;
    const int has_no_name = (flags & AT_EMPTY_PATH) != 0 || strncmp(old_name, "/proc/", strlen("/proc/")) == 0;
    if (has_no_name && lacks("linkat", settings.lacks_proc, ENOENT)) return -1;
    return next(from, old_name, to, new_name, flags);
}

// Calls that only ever fail as a whole.
#define CAN_FAIL(type, failure, name, parameters, arguments) \
    type name parameters {                                   \
        static type(*next) parameters;                       \
        if (next == NULL) *(void **)&next = dlsym(RTLD_NEXT, #name); \
        return fails(#name) ? failure : next arguments;      \
    }

CAN_FAIL(int, -1, fsync, (int fd), (fd))
CAN_FAIL(int, -1, fdatasync, (int fd), (fd))
CAN_FAIL(int, -1, syncfs, (int fd), (fd))
CAN_FAIL(int, -1, ftruncate, (int fd, off_t size), (fd, size))
CAN_FAIL(int, -1, fallocate, (int fd, int mode, off_t offset, off_t size), (fd, mode, offset, size))
CAN_FAIL(int, -1, renameat, (int from, const char *a, int to, const char *b), (from, a, to, b))
CAN_FAIL(int, -1, unlinkat, (int directory, const char *name, int flags), (directory, name, flags))
CAN_FAIL(void *, MAP_FAILED, mmap, (void *at, size_t size, int protection, int flags, int fd, off_t offset),
         (at, size, protection, flags, fd, offset))
