/* A manager of a device that this file makes up, with the hooks of that device: 1 GiB of host memory. CONFIG names what
 * is broken, see kFaults; "none" is a manager that keeps the contract. Another process opens a copy, as in the emulated
 * CUDA. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "cleave/memory_manager.h"
#include "device_hooks.h"

static const char* const kFaults[] = {
    "none",          /* nothing */
    "no-reset",      /* reset() frees nothing */
    "no-destroy",    /* destroy() frees nothing */
    "leaks",         /* release() keeps the memory until the reset */
    "info-leaks",    /* reset() does not tell info() */
    "eager",         /* deferral changes nothing */
    "pin-nothing",   /* pin() takes 0 bytes */
    "pin-flags",     /* pin() takes unknown flags */
    "pin-twice",     /* pin() takes memory that is pinned already */
    "pin-first",     /* pin() retains the owner even if it fails */
    "pin-keeps",     /* reset() does not release the owner */
    "pin-stays",     /* release() releases the owner but does not unpin */
    "pin-late",      /* unpinning is deferred */
    "pin-locked",    /* the owner is released under a lock */
    "open-own",      /* open_ipc() accepts what this process exported */
    "open-anywhere", /* open_ipc() does not compare the device */
    "open-any-size", /* open_ipc() does not look at handle_size */
    "open-stays",    /* release() does not unmap what was opened */
    "open-kept",     /* reset() does not unmap what was opened */
    "open-offset",   /* open_ipc() forgets the offset */
};

enum { kDevice, kPinned, kOpened };

typedef struct block {
    struct block* next;
    struct state* manager;
    int kind;
    char* begin; /* as allocated or pinned */
    size_t size;
    bool is_pending;
    cleave_memory_owner owner;
} block;

typedef struct state {
    cleave_memory_manager face;
    int depth, pending;
    size_t lost; /* bytes, for info() */
} state;

static const size_t kCapacity = (size_t)1 << 30;
static const size_t kOffset = 256;                        /* of memory in its allocation */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards the variables below, and all managers */
static block* blocks;                                     /* of all managers */
static size_t used;
static const char* fault = "none";

static bool has(const char* name) { return strcmp(fault, name) == 0; }
static void lock(void) { pthread_mutex_lock(&mutex); }
static void unlock(void) { pthread_mutex_unlock(&mutex); }

static block* add(state* self, int kind, char* begin, size_t size) { /* locked, as are the next two */
    block* const made = calloc(1, sizeof *made);
    *made = (block){.next = blocks, .manager = self, .kind = kind, .begin = begin, .size = size};
    blocks = made;
    return made;
}

static block* detach(block** place) {
    block* const one = *place;
    *place = one->next;
    return one;
}

/* Frees a block that is in no list. The owner may call the manager, so no lock is held. */
static void finish(block* one) {
    if (one->kind == kPinned) {
        if (has("pin-locked")) lock();
        one->owner.release(one->owner.object);
        if (has("pin-locked")) unlock();
    } else {
        lock();
        used -= one->kind == kDevice ? one->size : 0;
        unlock();
        free(one->begin);
    }
    free(one);
}

/* Frees the blocks that are pending, or all. */
static void sweep(state* self, bool is_all) {
    for (;;) {
        block* found = NULL;
        lock();
        for (block** place = &blocks; *place != NULL && found == NULL;) {
            const bool is_kept =
                ((*place)->kind == kPinned && has("pin-keeps")) || ((*place)->kind == kOpened && has("open-kept"));
            if ((*place)->manager == self && !is_kept && (is_all || (*place)->is_pending)) {
                found = detach(place);
            } else {
                place = &(*place)->next;
            }
        }
        if (found != NULL && found->is_pending) --self->pending;
        if (found != NULL && found->kind == kDevice && has("info-leaks")) self->lost += found->size;
        unlock();
        if (found == NULL) return;
        finish(found);
    }
}

static int initialize(void* object, int32_t device) {
    (void)object;
    return device > 0 ? ENODEV : 0;
}

static int allocate(void* object, cleave_memory_space space, size_t size, size_t alignment, uint32_t flags,
                    void* stream, cleave_memory* memory) {
    const uint32_t known = (CLEAVE_MEMORY_SECRET << 1) - 1;
    (void)stream;
    if (space > CLEAVE_MEMORY_DEVICE || (flags & ~known) != 0 || (alignment & (alignment - 1)) != 0) return EINVAL;
    if (space != CLEAVE_MEMORY_DEVICE) return ENOTSUP;
    if (alignment < kOffset) alignment = kOffset;
    if (size > kCapacity || alignment > kCapacity) return ENOMEM;
    lock();
    void* whole = NULL;
    const size_t held = size + alignment;
    if (held > kCapacity - used || posix_memalign(&whole, alignment, held) != 0) {
        unlock();
        return ENOMEM;
    }
    memset(whole, (flags & CLEAVE_MEMORY_ZEROED) != 0 ? 0 : 0xA5, held);
    used += held;
    *memory = (cleave_memory){(char*)whole + alignment, size, add(object, kDevice, whole, held)};
    unlock();
    return 0;
}

static int release(void* object, const cleave_memory* memory, void* stream) {
    state* const self = object;
    block* const one = memory->handle;
    (void)stream;
    if (has("leaks") && one->kind == kDevice) return 0;
    if (has("open-stays") && one->kind == kOpened) return 0;
    if (has("pin-stays") && one->kind == kPinned) return one->owner.release(one->owner.object), 0;
    lock();
    const bool is_late = one->kind == kDevice || (one->kind == kPinned && has("pin-late") && self->depth > 0);
    bool is_due = self->depth == 0 && self->pending >= 10;
    if (is_late) {
        one->is_pending = true;
        ++self->pending;
        is_due = is_due || has("eager");
    } else {
        block** place = &blocks;
        while (*place != one) place = &(*place)->next;
        detach(place);
    }
    unlock();
    if (!is_late) finish(one);
    if (is_due) sweep(self, false);
    return 0;
}

static int pin(void* object, const cleave_memory_owner* owner, void* pointer, size_t size, uint32_t flags,
               cleave_memory* pinned) {
    char* const begin = pointer;
    int error = 0;
    if (has("pin-first")) owner->retain(owner->object);
    if (pointer == NULL || (size == 0 && !has("pin-nothing"))) return EINVAL;
    if ((flags & ~(CLEAVE_MEMORY_PORTABLE | CLEAVE_MEMORY_PIN_MAPPED)) != 0 && !has("pin-flags")) return EINVAL;
    if ((flags & CLEAVE_MEMORY_PIN_MAPPED) != 0) return ENOTSUP;
    lock();
    for (const block* one = blocks; one != NULL && error == 0 && !has("pin-twice"); one = one->next) {
        if (one->kind == kPinned && begin < one->begin + one->size && one->begin < begin + size) error = EEXIST;
    }
    block* const made = error == 0 ? add(object, kPinned, begin, size) : NULL;
    if (made != NULL) made->owner = *owner;
    unlock();
    if (made == NULL) return error;
    if (!has("pin-first")) owner->retain(owner->object);
    *pinned = (cleave_memory){pointer, size, made};
    return 0;
}

static int info(void* object, cleave_memory_space space, uint64_t* free_size, uint64_t* total_size) {
    state* const self = object;
    if (space != CLEAVE_MEMORY_DEVICE) return ENOTSUP;
    lock();
    *free_size = kCapacity - used - self->lost;
    for (const block* one = blocks; one != NULL; one = one->next) {
        if (one->manager == self && one->is_pending && one->kind == kDevice) *free_size += one->size;
    }
    *total_size = kCapacity;
    unlock();
    return 0;
}

/* What a handle has in its 64 bytes. */
typedef struct exported_memory {
    pid_t process;
    char* begin;
    size_t size;
} exported_memory;

static int export_ipc(void* object, const cleave_memory* memory, cleave_memory_export* exported) {
    const block* const one = memory->handle;
    const exported_memory made = {getpid(), one->begin, one->size};
    (void)object;
    if (one->kind != kDevice) return ENOTSUP;
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    memset(exported, 0, sizeof *exported);
    memcpy(exported->handle, &made, sizeof made);
    exported->handle_size = sizeof made;
    exported->process = (uint32_t)getpid();
    exported->offset = (uint64_t)((char*)memory->pointer - one->begin);
    exported->size = memory->size;
    memset(exported->device, 7, sizeof exported->device);
    return 0;
}

static int open_ipc(void* object, const cleave_memory_export* exported, int32_t device, cleave_memory* memory) {
    exported_memory there;
    if (exported->handle_size != sizeof there && !has("open-any-size")) return EINVAL;
    if (exported->process == (uint32_t)getpid() && !has("open-own")) return EEXIST;
    if (device != 0) return ENODEV;
    for (size_t i = 0; i < sizeof exported->device && !has("open-anywhere"); ++i) {
        if (exported->device[i] != 7) return EXDEV;
    }
    memcpy(&there, exported->handle, sizeof there);
    char* const copy = malloc(there.size);
    const struct iovec to = {copy, there.size};
    const struct iovec from = {there.begin, there.size};
    if (process_vm_readv(there.process, &to, 1, &from, 1, 0) != (ssize_t)there.size) return free(copy), EINVAL;
    lock();
    block* const made = add(object, kOpened, copy, there.size);
    unlock();
    *memory = (cleave_memory){copy + (has("open-offset") ? 0 : exported->offset), exported->size, made};
    return 0;
}

static int defer_cleanup_begin(void* object) {
    lock();
    ++((state*)object)->depth;
    unlock();
    return 0;
}

static int defer_cleanup_end(void* object) {
    state* const self = object;
    lock();
    const int error = self->depth == 0 ? EINVAL : 0;
    self->depth -= error == 0;
    const bool is_due = error == 0 && self->depth == 0 && self->pending > 10;
    unlock();
    if (is_due) sweep(self, false);
    return error;
}

static int reset(void* object) {
    if (!has("no-reset")) sweep(object, true);
    return 0;
}

static void destroy(void* object) {
    if (has("no-destroy")) return;
    reset(object);
    free(object);
}

/* The hooks. */

static int write_bytes(void* device, const void* host, size_t size) { return memcpy(device, host, size), 0; }
static int read_bytes(void* host, const void* device, size_t size) { return memcpy(host, device, size), 0; }
static int open_nothing(const cleave_memory_export* exported, void** pointer) {
    (void)exported, (void)pointer;
    return ENOTSUP; /* the manager does it */
}
static int close_nothing(const cleave_memory_export* exported, void* pointer) {
    (void)exported, (void)pointer;
    return ENOTSUP;
}

static int free_size(uint64_t* bytes) {
    lock();
    *bytes = kCapacity - used;
    unlock();
    return 0;
}

static int knows(const void* pointer) {
    const char* const at = pointer;
    int is_known = 0;
    lock();
    for (const block* one = blocks; one != NULL; one = one->next) {
        is_known |= at >= one->begin && at < one->begin + one->size;
    }
    unlock();
    return is_known;
}

const cleave_device_hooks* device_hooks(void) __asm__(CLEAVE_DEVICE_HOOKS_SYMBOL);
const cleave_device_hooks* device_hooks(void) {
    static const cleave_device_hooks kHooks = {write_bytes, read_bytes, open_nothing, close_nothing, free_size, knows};
    return &kHooks;
}

int cleave_memory_manager_open(const char* config, const cleave_memory_manager** manager, char* message,
                               size_t message_size) {
    (void)message, (void)message_size;
    for (size_t i = 0; i < sizeof kFaults / sizeof *kFaults; ++i) {
        if (strcmp(config, kFaults[i]) != 0) continue;
        fault = kFaults[i];
        state* const made = calloc(1, sizeof *made);
        made->face = (cleave_memory_manager){.interface_version = CLEAVE_MEMORY_MANAGER_VERSION,
                                             .struct_size = sizeof made->face,
                                             .capabilities = CLEAVE_MEMORY_CAN_DEVICE | CLEAVE_MEMORY_CAN_INFO |
                                                             CLEAVE_MEMORY_CAN_PIN | CLEAVE_MEMORY_CAN_DEFER |
                                                             CLEAVE_MEMORY_CAN_EXPORT | CLEAVE_MEMORY_CAN_OPEN,
                                             .name = "faulty-device",
                                             .state = made,
                                             .initialize = initialize,
                                             .allocate = allocate,
                                             .release = release,
                                             .pin = pin,
                                             .info = info,
                                             .export_ipc = export_ipc,
                                             .defer_cleanup_begin = defer_cleanup_begin,
                                             .defer_cleanup_end = defer_cleanup_end,
                                             .reset = reset,
                                             .destroy = destroy,
                                             .open_ipc = open_ipc};
        *manager = &made->face;
        return 0;
    }
    return EINVAL;
}
