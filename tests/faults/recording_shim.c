// A library to preload into a program. It records every change that the program makes to a file system, in order, and
// every call that makes changes durable. From this record power_model.py derives the folders that a loss of power may
// leave.
//   RECORD_LOG=PATH     where to append the record; opened at the start, because the right may be lost later
//   RECORD_INODES=PATH  the numbers that the program sees for inodes, one line each: DEVICE INODE NUMBER
//   RECORD_BASE=N       what is added to the numbers of all other inodes
//   RECORD_LACKS=tmpfile  the file system cannot create files without a name
//   RECORD_REFUSED=TEXT a write of this text to standard output fails
//
// A folder that is recreated from a record has different inodes. Programs that store inode numbers in files must not
// notice, so stat() gives each inode of the new folder the number of the old one. The record has these numbers too.
//
// To all threads of the process, a call and its entry in the record are a single step. Processes share the record,
// which orders their calls only by when they append to it. Calls that libc makes internally, within fwrite() for
// instance, and writes through a mapping are not seen; power_test.py notices, because the record must lead to the real
// folder.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

// An entry of the record consists of this structure, two names, and `size` bytes of data if it is kInode, kData or
// kContent.
enum Kind {
    kInode = 1,  // a new inode with a mode; the data are the target of a symbolic link
    kNames = 2,  // names in folders now lead to the targets; target 0: the name is gone. One step for the file system
    kData = 3,   // bytes at an offset
    kSize = 4,   // a new size; bytes beyond it are gone, added ones are zeros
    kMode = 5,   // a new mode
    kFileSync = 6,  // fsync(); a mode of 1 stands for fdatasync()
    kDiskSync = 7,  // syncfs(), sync(): everything
    kUnknown = 8,   // a change that this file does not know how to describe
    kContent = 9,   // not a change: all bytes of a file that is about to lose a name
};

struct Entry {
    uint32_t kind, mode;
    uint64_t device, inode, offset, size;
    uint64_t folders[2], targets[2];
    uint32_t name_sizes[2];
};

enum { kLogDescriptor = 500, kMostInodes = 4096, kPathSize = 4096 };

static struct {
    int log;
    uint64_t base;
    int lacks_tmpfile;
    const char *refused;
    unsigned count;
    struct {
        uint64_t device, inode, number;
    } inodes[kMostInodes];
} settings = {.log = -1};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static const char *setting(const char *name) {
    const char *value = getenv(name);
    return value != NULL ? value : "";
}

static void read_settings(void) {
    settings.base = strtoull(setting("RECORD_BASE"), NULL, 10);
    settings.lacks_tmpfile = strcmp(setting("RECORD_LACKS"), "tmpfile") == 0;
    settings.refused = setting("RECORD_REFUSED");
    FILE *table = fopen(setting("RECORD_INODES"), "re");
    unsigned long long device = 0, inode = 0, number = 0;
    while (table != NULL && settings.count < kMostInodes &&
           fscanf(table, "%llu %llu %llu", &device, &inode, &number) == 3) {
        settings.inodes[settings.count].device = device;
        settings.inodes[settings.count].inode = inode;
        settings.inodes[settings.count++].number = number;
    }
    if (table != NULL) fclose(table);
    // A high number, so that the program gets the same descriptors as without the shim.
    const long log = syscall(SYS_openat, AT_FDCWD, setting("RECORD_LOG"), O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (log < 0) return;
    settings.log = fcntl((int)log, F_DUPFD_CLOEXEC, kLogDescriptor);
    syscall(SYS_close, (int)log);
}

__attribute__((constructor)) static void begin(void) { pthread_once(&once, read_settings); }

static uint64_t number_of(uint64_t device, uint64_t inode) {
    pthread_once(&once, read_settings);
    for (unsigned i = 0; i < settings.count; ++i) {
        if (settings.inodes[i].device == device && settings.inodes[i].inode == inode) return settings.inodes[i].number;
    }
    return inode + settings.base;
}

// Like fstatat(), but with the number that the program sees for the inode. Preserves errno.
static int look(int folder, const char *path, int flags, struct stat *status) {
    const int error = errno;
    const long result = syscall(SYS_newfstatat, folder, path, status, flags);
    if (result != 0) memset(status, 0, sizeof *status);
    if (result == 0) status->st_ino = number_of(status->st_dev, status->st_ino);
    errno = error;
    return (int)result;
}

static struct stat look_at(int descriptor) {
    struct stat status;
    look(descriptor, "", AT_EMPTY_PATH, &status);
    return status;
}

static void append(struct Entry entry, const char *first, const char *second, const void *data) {
    if (settings.log < 0) return;
    entry.name_sizes[0] = first != NULL ? (uint32_t)strlen(first) : 0;
    entry.name_sizes[1] = second != NULL ? (uint32_t)strlen(second) : 0;
    struct iovec parts[] = {{&entry, sizeof entry},
                            {(char *)first, entry.name_sizes[0]},
                            {(char *)second, entry.name_sizes[1]},
                            {(void *)data, data != NULL ? entry.size : 0}};
    const int error = errno;
    syscall(SYS_writev, settings.log, parts, 4);
    errno = error;
}

// Where a path leads: the folder of its last component, and that component.
struct Place {
    uint64_t device, folder;
    char name[kPathSize];
};

static struct Place place_of(int folder, const char *path) {
    char above[kPathSize];
    struct Place place = {0, 0, ""};
    snprintf(above, sizeof above, "%s", path);
    size_t size = strlen(above);
    while (size > 1 && above[size - 1] == '/') above[--size] = '\0';
    char *slash = strrchr(above, '/');
    snprintf(place.name, sizeof place.name, "%s", slash != NULL ? slash + 1 : above);
    if (slash != NULL) slash[1] = '\0';
    struct stat status;
    look(folder, slash != NULL ? above : folder == AT_FDCWD ? "." : "", AT_EMPTY_PATH, &status);
    place.device = status.st_dev;
    place.folder = status.st_ino;
    return place;
}

// The inode that a name leads to, or 0.
static uint64_t inode_at(int folder, const char *path) {
    struct stat status;
    look(folder, path, AT_SYMLINK_NOFOLLOW, &status);
    return status.st_ino;
}

static void append_inode(const struct stat *status, const char *target) {
    append((struct Entry){.kind = kInode,
                          .mode = status->st_mode,
                          .device = status->st_dev,
                          .inode = status->st_ino,
                          .size = target != NULL ? strlen(target) : 0},
           NULL, NULL, target);
}

static void append_name(const struct Place *place, uint64_t target) {
    append((struct Entry){.kind = kNames, .device = place->device, .folders = {place->folder}, .targets = {target}},
           place->name, NULL, NULL);
}

static void append_made(int folder, const char *path, const char *target) {
    struct stat status;
    look(folder, path, AT_SYMLINK_NOFOLLOW, &status);
    const struct Place place = place_of(folder, path);
    append_inode(&status, target);
    append_name(&place, status.st_ino);
}

static void append_of(enum Kind kind, int descriptor, uint32_t mode, uint64_t size) {
    const struct stat status = look_at(descriptor);
    const int is_of_folder = S_ISDIR(status.st_mode) && (kind == kFileSync || kind == kDiskSync || kind == kMode);
    if (!S_ISREG(status.st_mode) && !is_of_folder) return;
    append((struct Entry){.kind = kind, .mode = mode, .device = status.st_dev, .inode = status.st_ino, .offset = size},
           NULL, NULL, NULL);
}

static void append_data(int descriptor, uint64_t offset, const void *data, uint64_t size) {
    const struct stat status = look_at(descriptor);
    if (!S_ISREG(status.st_mode) || size == 0) return;
    append(
        (struct Entry){.kind = kData, .device = status.st_dev, .inode = status.st_ino, .offset = offset, .size = size},
        NULL, NULL, data);
}

// The same for bytes that the kernel itself wrote there, which are read back.
static void append_there(int descriptor, uint64_t offset, uint64_t size) {
    char *data = malloc(size);
    const int error = errno;
    if (data != NULL && syscall(SYS_pread64, descriptor, data, size, offset) == (long)size) {
        append_data(descriptor, offset, data, size);
    } else {
        append_of(kUnknown, descriptor, 0, 0);
    }
    errno = error;
    free(data);
}

static uint64_t place_in(int descriptor) {
    const int error = errno;
    const long offset = (fcntl(descriptor, F_GETFL) & O_APPEND) != 0 ? look_at(descriptor).st_size
                                                                     : syscall(SYS_lseek, descriptor, 0, SEEK_CUR);
    errno = error;
    return offset < 0 ? 0 : (uint64_t)offset;
}

// Defines a call that runs under the lock. `before` runs first, and `after` if the call has succeeded; both may use
// `result`.
#define RECORDED(type, name, parameters, call, before, after) \
    type name parameters {                                    \
        pthread_once(&once, read_settings);                   \
        pthread_mutex_lock(&mutex);                           \
        before;                                               \
        const long result = call;                             \
        if (result >= 0) {                                    \
            after;                                            \
        }                                                     \
        pthread_mutex_unlock(&mutex);                         \
        return (type)result;                                  \
    }

static int is_refused(int descriptor, const void *data, size_t size) {
    if (descriptor != STDOUT_FILENO || *settings.refused == '\0') return 0;
    if (memmem(data, size, settings.refused, strlen(settings.refused)) == NULL) return 0;
    errno = EIO;
    return 1;
}

// Bytes.
RECORDED(ssize_t, write, (int fd, const void *from, size_t size),
         is_refused(fd, from, size) ? -1 : syscall(SYS_write, fd, from, size), const uint64_t at = place_in(fd),
         append_data(fd, at, from, (uint64_t)result))
RECORDED(ssize_t, pwrite, (int fd, const void *from, size_t size, off_t at), syscall(SYS_pwrite64, fd, from, size, at),
         , append_data(fd, (uint64_t)at, from, (uint64_t)result))
RECORDED(ssize_t, pwrite64, (int fd, const void *from, size_t size, off64_t at),
         syscall(SYS_pwrite64, fd, from, size, at), , append_data(fd, (uint64_t)at, from, (uint64_t)result))
RECORDED(ssize_t, writev, (int fd, const struct iovec *parts, int count), syscall(SYS_writev, fd, parts, count),
         const uint64_t at = place_in(fd), append_there(fd, at, (uint64_t)result))
RECORDED(ssize_t, copy_file_range, (int from, off64_t *from_at, int to, off64_t *to_at, size_t size, unsigned flags),
         syscall(SYS_copy_file_range, from, from_at, to, to_at, size, flags),
         const uint64_t at = to_at != NULL ? (uint64_t)*to_at : place_in(to), append_there(to, at, (uint64_t)result))
RECORDED(ssize_t, sendfile, (int to, int from, off_t *from_at, size_t size),
         syscall(SYS_sendfile, to, from, from_at, size), const uint64_t at = place_in(to),
         append_there(to, at, (uint64_t)result))
RECORDED(int, ftruncate, (int fd, off_t size), syscall(SYS_ftruncate, fd, size), ,
         append_of(kSize, fd, 0, (uint64_t)size))
RECORDED(int, ftruncate64, (int fd, off64_t size), syscall(SYS_ftruncate, fd, size), ,
         append_of(kSize, fd, 0, (uint64_t)size))

static void append_allocated(int descriptor, int mode, uint64_t end) {
    if (mode == FALLOC_FL_KEEP_SIZE) return;
    if (mode != 0) append_of(kUnknown, descriptor, 0, 0);
    if (end > (uint64_t)look_at(descriptor).st_size || mode != 0) return;
    append_of(kSize, descriptor, 0, (uint64_t)look_at(descriptor).st_size);
}

RECORDED(int, fallocate, (int fd, int mode, off_t at, off_t size), syscall(SYS_fallocate, fd, mode, at, size), ,
         append_allocated(fd, mode, (uint64_t)(at + size)))
int posix_fallocate(int fd, off_t at, off_t size) { return fallocate(fd, 0, at, size) != 0 ? errno : 0; }

static void append_clone(int fd, unsigned long request, const void *argument) {
    const struct file_clone_range *range = argument;
    if (request == FICLONE) append_there(fd, 0, (uint64_t)look_at(fd).st_size);
    if (request == FICLONERANGE) append_there(fd, range->dest_offset, range->src_length);
}

int ioctl(int fd, unsigned long request, ...) {
    va_list rest;
    va_start(rest, request);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    pthread_mutex_lock(&mutex);
    const long result = syscall(SYS_ioctl, fd, request, argument);
    if (result >= 0) append_clone(fd, request, argument);
    pthread_mutex_unlock(&mutex);
    return (int)result;
}

// Names.
static int open_recorded(int folder, const char *path, int flags, mode_t mode) {
    pthread_once(&once, read_settings);
    const int has_no_name = (flags & O_TMPFILE) == O_TMPFILE;
    if ((flags & (O_CREAT | O_TRUNC)) == 0 && !has_no_name) {
        return (int)syscall(SYS_openat, folder, path, flags, mode);
    }
    if (has_no_name && settings.lacks_tmpfile) {
        errno = EOPNOTSUPP;
        return -1;
    }
    pthread_mutex_lock(&mutex);
    struct stat before;
    const int was_there = look(folder, path, (flags & O_NOFOLLOW) != 0 ? AT_SYMLINK_NOFOLLOW : 0, &before) == 0;
    const int fd = (int)syscall(SYS_openat, folder, path, flags, mode);
    if (fd >= 0) {
        const struct stat status = look_at(fd);
        if (has_no_name) {
            append_inode(&status, NULL);
        } else if (!was_there) {
            append_made(folder, path, NULL);
        } else if ((flags & O_TRUNC) != 0 && before.st_size > 0) {
            append_of(kSize, fd, 0, 0);
        }
    }
    pthread_mutex_unlock(&mutex);
    return fd;
}

// The mode is passed on even if the caller gave none, because reading it is harmless here.
#define MODE_AFTER(last)                      \
    va_list rest;                             \
    va_start(rest, last);                     \
    const mode_t mode = va_arg(rest, mode_t); \
    va_end(rest)

int open(const char *path, int flags, ...) {
    MODE_AFTER(flags);
    return open_recorded(AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    MODE_AFTER(flags);
    return open_recorded(AT_FDCWD, path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...) {
    MODE_AFTER(flags);
    return open_recorded(folder, path, flags, mode);
}

int openat64(int folder, const char *path, int flags, ...) {
    MODE_AFTER(flags);
    return open_recorded(folder, path, flags, mode);
}

static void append_renamed(const struct Place *from, uint64_t source, const struct Place *to, uint64_t replaced,
                           unsigned flags) {
    if (source == replaced) return;
    append((struct Entry){.kind = kNames,
                          .device = from->device,
                          .folders = {from->folder, to->folder},
                          .targets = {(flags & RENAME_EXCHANGE) != 0 ? replaced : 0, source}},
           from->name, to->name, NULL);
}

#define RENAME(name, parameters, from, old_path, to, new_path, flags)                                             \
    RECORDED(int, name, parameters, syscall(SYS_renameat2, from, old_path, to, new_path, flags),                  \
             const struct Place before = place_of(from, old_path);                                                \
             const uint64_t source = inode_at(from, old_path); const struct Place after = place_of(to, new_path); \
             const uint64_t replaced = inode_at(to, new_path),                                                    \
             append_renamed(&before, source, &after, replaced, flags))

RENAME(renameat2, (int from, const char *a, int to, const char *b, unsigned flags), from, a, to, b, flags)
RENAME(renameat, (int from, const char *a, int to, const char *b), from, a, to, b, 0)
RENAME(rename, (const char *a, const char *b), AT_FDCWD, a, AT_FDCWD, b, 0)

static void append_linked(int folder, const char *path) {
    const struct Place place = place_of(folder, path);
    append_name(&place, inode_at(folder, path));
}

RECORDED(int, linkat, (int from, const char *a, int to, const char *b, int flags),
         syscall(SYS_linkat, from, a, to, b, flags), , append_linked(to, b))
RECORDED(int, link, (const char *a, const char *b), syscall(SYS_linkat, AT_FDCWD, a, AT_FDCWD, b, 0), ,
         append_linked(AT_FDCWD, b))
RECORDED(int, symlinkat, (const char *target, int folder, const char *path),
         syscall(SYS_symlinkat, target, folder, path), , append_made(folder, path, target))
RECORDED(int, symlink, (const char *target, const char *path), syscall(SYS_symlinkat, target, AT_FDCWD, path), ,
         append_made(AT_FDCWD, path, target))
RECORDED(int, mkdirat, (int folder, const char *path, mode_t mode), syscall(SYS_mkdirat, folder, path, mode), ,
         append_made(folder, path, NULL))
RECORDED(int, mkdir, (const char *path, mode_t mode), syscall(SYS_mkdirat, AT_FDCWD, path, mode), ,
         append_made(AT_FDCWD, path, NULL))
// At the end of a run, the bytes of a file that has lost its name can no longer be compared with the record, so this
// function records them beforehand.
static void append_content(int folder, const char *path) {
    struct stat status;
    if (look(folder, path, AT_SYMLINK_NOFOLLOW, &status) != 0 || !S_ISREG(status.st_mode)) return;
    const int error = errno;
    char *data = malloc((size_t)status.st_size + 1);
    const long fd = syscall(SYS_openat, folder, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC, 0);
    if (data != NULL && fd >= 0 && syscall(SYS_read, fd, data, status.st_size) == status.st_size) {
        append(
            (struct Entry){
                .kind = kContent, .device = status.st_dev, .inode = status.st_ino, .size = (uint64_t)status.st_size},
            NULL, NULL, data);
    } else {
        append((struct Entry){.kind = kUnknown, .device = status.st_dev, .inode = status.st_ino}, NULL, NULL, NULL);
    }
    if (fd >= 0) syscall(SYS_close, fd);
    free(data);
    errno = error;
}

#define UNLINK(name, parameters, folder, path, flags)                                                         \
    RECORDED(int, name, parameters, syscall(SYS_unlinkat, folder, path, flags), append_content(folder, path); \
             const struct Place place = place_of(folder, path), append_name(&place, 0))

UNLINK(unlinkat, (int folder, const char *path, int flags), folder, path, flags)
UNLINK(unlink, (const char *path), AT_FDCWD, path, 0)
UNLINK(rmdir, (const char *path), AT_FDCWD, path, AT_REMOVEDIR)
RECORDED(int, fchmod, (int fd, mode_t mode), syscall(SYS_fchmod, fd, mode), , append_of(kMode, fd, mode, 0))

// Calls that make changes durable.
RECORDED(int, fsync, (int fd), syscall(SYS_fsync, fd), , append_of(kFileSync, fd, 0, 0))
RECORDED(int, fdatasync, (int fd), syscall(SYS_fdatasync, fd), , append_of(kFileSync, fd, 1, 0))
RECORDED(int, syncfs, (int fd), syscall(SYS_syncfs, fd), , append_of(kDiskSync, fd, 0, 0))

// Calls through which the program sees inodes.
int fstatat(int folder, const char *restrict path, struct stat *restrict status, int flags) {
    const long result = syscall(SYS_newfstatat, folder, path, status, flags);
    if (result == 0) status->st_ino = number_of(status->st_dev, status->st_ino);
    return (int)result;
}

int fstat(int fd, struct stat *status) { return fstatat(fd, "", status, AT_EMPTY_PATH); }
int stat(const char *restrict path, struct stat *restrict status) { return fstatat(AT_FDCWD, path, status, 0); }
int lstat(const char *restrict path, struct stat *restrict status) {
    return fstatat(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}
int fstat64(int fd, struct stat64 *status) { return fstat(fd, (struct stat *)status); }
int stat64(const char *restrict path, struct stat64 *restrict status) { return stat(path, (struct stat *)status); }
int lstat64(const char *restrict path, struct stat64 *restrict status) { return lstat(path, (struct stat *)status); }
int fstatat64(int folder, const char *restrict path, struct stat64 *restrict status, int flags) {
    return fstatat(folder, path, (struct stat *)status, flags);
}
