/* A manager that has only device memory, which the CPU cannot touch. The default manager supplies everything else.
 * Its name reports what it has done: "device-only: A allocated, R released". */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "cleave/memory_manager.h"

typedef struct state {
    cleave_memory_manager manager;
    pthread_mutex_t mutex;
    char name[80];
    int allocated, released;
} state;

static void write_name(state* self) {
    snprintf(self->name, sizeof self->name, "device-only: %d allocated, %d released", self->allocated, self->released);
}

static int initialize(void* object, int32_t device) {
    (void)object, (void)device;
    return 0;
}

static int allocate(void* object, cleave_memory_space space, size_t size, size_t alignment, uint32_t flags,
                    void* stream, cleave_memory* memory) {
    state* const self = object;
    (void)flags, (void)stream;
    if (space != CLEAVE_MEMORY_DEVICE) return ENOTSUP;
    if (alignment > 4096 || size > SIZE_MAX / 2) return ENOMEM;
    const size_t held = (size + 4096) / 4096 * 4096;
    void* const mapped = mmap(NULL, held, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return ENOMEM;
    pthread_mutex_lock(&self->mutex);
    ++self->allocated;
    write_name(self);
    pthread_mutex_unlock(&self->mutex);
    *memory = (cleave_memory){mapped, held, NULL};
    return 0;
}

static int release(void* object, const cleave_memory* memory, void* stream) {
    state* const self = object;
    (void)stream;
    pthread_mutex_lock(&self->mutex);
    ++self->released;
    write_name(self);
    pthread_mutex_unlock(&self->mutex);
    return munmap(memory->pointer, memory->size) == 0 ? 0 : errno;
}

static int reset(void* object) {
    (void)object;
    return 0;
}

static void destroy(void* object) {
    state* const self = object;
    pthread_mutex_destroy(&self->mutex);
    free(self);
}

int cleave_memory_manager_open(const char* config, const cleave_memory_manager** manager, char* message,
                               size_t message_size) {
    (void)config, (void)message, (void)message_size;
    state* const made = calloc(1, sizeof *made);
    if (made == NULL) return ENOMEM;
    pthread_mutex_init(&made->mutex, NULL);
    made->manager = (cleave_memory_manager){.interface_version = CLEAVE_MEMORY_MANAGER_VERSION,
                                            .struct_size = sizeof made->manager,
                                            .capabilities = CLEAVE_MEMORY_CAN_DEVICE,
                                            .name = made->name,
                                            .state = made,
                                            .initialize = initialize,
                                            .allocate = allocate,
                                            .release = release,
                                            .reset = reset,
                                            .destroy = destroy};
    write_name(made);
    *manager = &made->manager;
    return 0;
}
