/* A memory manager based on mimalloc, for the host: https://microsoft.github.io/mimalloc
 *
 * mimalloc has no call that frees only the memory of one user. Its heaps can be freed as a whole, but only the thread
 * that created a heap may allocate from it. This manager therefore keeps lists of what it has handed out, for reset().
 *
 * It implements neither "info", which mimalloc cannot provide, nor "secret"; cleave adds both. It takes no settings.
 * mimalloc has its own, in environment variables such as MIMALLOC_LARGE_OS_PAGES=1. */
#include <errno.h>
#include <mimalloc.h>
#include <pthread.h>
#include <stdio.h>

#include "cleave/memory_manager.h"

enum { kLists = 16 };

typedef struct block {
    struct block *previous, *next;
    void* bytes;
} block;

typedef struct list {
    pthread_mutex_t mutex; /* guards the ring */
    block ring;            /* not an allocated block, only the head of the ring */
} list;

typedef struct state {
    cleave_memory_manager manager;
    list lists[kLists];
} state;

/* Threads seldom wait for each other, because each has its own 64 KiB pages and therefore mostly its own lists. */
static list* list_of(state* self, const block* one) { return &self->lists[((uintptr_t)one >> 16) % kLists]; }

static void insert(state* self, block* one) {
    list* const its = list_of(self, one);
    pthread_mutex_lock(&its->mutex);
    one->previous = &its->ring;
    one->next = its->ring.next;
    one->previous->next = one->next->previous = one;
    pthread_mutex_unlock(&its->mutex);
}

static void unlink_block(block* one) { /* the mutex of its list is locked */
    one->previous->next = one->next;
    one->next->previous = one->previous;
}

static void free_block(block* one) {
    mi_free(one->bytes);
    mi_free(one);
}

static int initialize(void* object, int32_t device) {
    (void)object, (void)device; /* nothing to initialise, whatever the device */
    return 0;
}

/* Returns NULL if there is not enough memory. */
static void* take(size_t size, size_t alignment, uint32_t flags) {
    const int is_zeroed = (flags & CLEAVE_MEMORY_ZEROED) != 0;
    /* Version 2.0.9 misaligns 256, 512 and 1024 bytes: https://github.com/microsoft/mimalloc/issues/700 */
    if (size <= MI_SMALL_SIZE_MAX && (size & (size - 1)) == 0) ++size;
    return is_zeroed ? mi_zalloc_aligned(size, alignment) : mi_malloc_aligned(size, alignment);
}

static int allocate(void* object, cleave_memory_space space, size_t size, size_t alignment, uint32_t flags,
                    void* stream, cleave_memory* memory) {
    const uint32_t known = (CLEAVE_MEMORY_SECRET << 1) - 1; /* the flags of version 1 */
    (void)stream;
    if (alignment == 0) alignment = 64;
    if (space > CLEAVE_MEMORY_DEVICE || (flags & ~known) != 0 || (alignment & (alignment - 1)) != 0) return EINVAL;
    if (space != CLEAVE_MEMORY_HOST) return ENOTSUP;

    block* const made = mi_zalloc_small(sizeof *made);
    if (made == NULL) return ENOMEM;
    if (size > 0) {
        made->bytes = take(size, alignment, flags);
        if (made->bytes == NULL) {
            mi_collect(1); /* returns free memory to the system, to make room */
            made->bytes = take(size, alignment, flags);
        }
        if (made->bytes == NULL) {
            mi_free(made);
            return ENOMEM;
        }
    }
    insert(object, made);
    memory->pointer = made->bytes;
    memory->size = size;
    memory->handle = made;
    return 0;
}

static int release(void* object, const cleave_memory* memory, void* stream) {
    block* const one = memory->handle;
    list* const its = list_of(object, one);
    (void)stream;
    pthread_mutex_lock(&its->mutex);
    unlink_block(one);
    pthread_mutex_unlock(&its->mutex);
    free_block(one);
    return 0;
}

static int reset(void* object) {
    state* const self = object;
    for (int i = 0; i < kLists; ++i) {
        list* const its = &self->lists[i];
        pthread_mutex_lock(&its->mutex);
        while (its->ring.next != &its->ring) {
            block* const one = its->ring.next;
            unlink_block(one);
            free_block(one);
        }
        pthread_mutex_unlock(&its->mutex);
    }
    mi_collect(1); /* otherwise mimalloc keeps the memory for later requests */
    return 0;
}

static void destroy(void* object) {
    state* const self = object;
    reset(self);
    for (int i = 0; i < kLists; ++i) pthread_mutex_destroy(&self->lists[i].mutex);
    mi_free(self);
}

/* Exported under this name. */
int cleave_memory_manager_open(const char* config, const cleave_memory_manager** manager, char* message,
                               size_t message_size);

int cleave_memory_manager_open(const char* config, const cleave_memory_manager** manager, char* message,
                               size_t message_size) {
    if (config[0] != 0) {
        snprintf(message, message_size, "it takes no settings");
        return EINVAL;
    }
    state* const made = mi_zalloc(sizeof *made);
    if (made == NULL) return ENOMEM;
    for (int i = 0; i < kLists; ++i) {
        list* const its = &made->lists[i];
        pthread_mutex_init(&its->mutex, NULL);
        its->ring.previous = its->ring.next = &its->ring;
    }
    made->manager.interface_version = CLEAVE_MEMORY_MANAGER_VERSION;
    made->manager.struct_size = sizeof made->manager;
    made->manager.capabilities = CLEAVE_MEMORY_CAN_HOST;
    made->manager.name = "mimalloc";
    made->manager.state = made;
    made->manager.initialize = initialize;
    made->manager.allocate = allocate;
    made->manager.release = release;
    made->manager.reset = reset;
    made->manager.destroy = destroy;
    *manager = &made->manager;
    return 0;
}
