/* A device in C: the host, which does all work immediately. It shows that a module does not need C++. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cleave/experimental/device_module.h"

static const cleave_device_status kGood = {CLEAVE_DEVICE_GOOD, ""};

/* Memory: one manager without state. */
static int initialize(void* state, int32_t device) {
    (void)state, (void)device;
    return 0;
}

static int allocate(void* state, cleave_memory_space space, size_t size, size_t alignment, uint32_t flags, void* stream,
                    cleave_memory* memory) {
    (void)state, (void)stream;
    if (space == CLEAVE_MEMORY_HOST) return ENOTSUP;
    if (alignment < 256) alignment = 256;
    const size_t held = (size / alignment + 1) * alignment;
    void* const made = aligned_alloc(alignment, held);
    if (made == NULL) return ENOMEM;
    if ((flags & CLEAVE_MEMORY_ZEROED) != 0) memset(made, 0, held);
    *memory = (cleave_memory){made, size, NULL};
    return 0;
}

static int release(void* state, const cleave_memory* memory, void* stream) {
    (void)state, (void)stream;
    free(memory->pointer);
    return 0;
}

static int reset(void* state) {
    (void)state;
    return 0;
}

static void destroy(void* state) { (void)state; }

static const cleave_memory_manager* make_memory_manager(void* state) {
    (void)state;
    static const cleave_memory_manager kManager = {
        .interface_version = CLEAVE_MEMORY_MANAGER_VERSION,
        .struct_size = sizeof kManager,
        .capabilities = CLEAVE_MEMORY_CAN_DEVICE | CLEAVE_MEMORY_CAN_PINNED | CLEAVE_MEMORY_CAN_MAPPED,
        .name = "plain",
        .initialize = initialize,
        .allocate = allocate,
        .release = release,
        .reset = reset,
        .destroy = destroy};
    return &kManager;
}

/* A stream and an event are each represented by a time in seconds: for an event, when it last happened. */
static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static cleave_device_status create(void* state, void** made) {
    (void)state;
    *made = calloc(1, sizeof(double));
    return *made != NULL ? kGood : (cleave_device_status){CLEAVE_DEVICE_OUT_OF_MEMORY, "plain"};
}

static void destroy_one(void* state, void* object) {
    (void)state;
    free(object);
}

static cleave_device_status do_nothing(void* state, void* object) {
    (void)state, (void)object;
    return kGood;
}

static cleave_device_status query(void* state, void* stream, int32_t* is_done) {
    (void)state, (void)stream;
    *is_done = 1;
    return kGood;
}

static cleave_device_status copy(void* state, void* to, const void* from, size_t size, void* stream) {
    (void)state, (void)stream;
    memmove(to, from, size);
    return kGood;
}

static cleave_device_status run(void* state, const cleave_device_work* work, void* stream) {
    (void)state;
    if (strcmp(work->name, "fails") == 0) {
        work->release(work->object);
        cleave_device_status odd = {77, ""}; /* a fault unknown to the interface, and an unterminated string */
        memset(odd.text, 'x', sizeof odd.text);
        return odd;
    }
    work->run(work->object, stream);
    work->release(work->object);
    return kGood;
}

static cleave_device_status record(void* state, void* event, void* stream) {
    (void)state, (void)stream;
    *(double*)event = now();
    return kGood;
}

static cleave_device_status wait_for(void* state, void* stream, void* event) {
    (void)state, (void)stream, (void)event;
    return kGood;
}

static cleave_device_status elapsed(void* state, void* from, void* to, double* seconds) {
    (void)state;
    *seconds = *(double*)to - *(double*)from;
    return kGood;
}

static void close_device(void* state) { ++*(int*)state; }

__attribute__((visibility("default"))) cleave_device_opening cleave_device_open(const char* config,
                                                                                const cleave_device** device,
                                                                                char* message, size_t message_size) {
    static int closed = 0; /* how many devices were closed; the library reads it as the memory size */
    static cleave_device plain = {.interface_version = CLEAVE_DEVICE_VERSION,
                                  .struct_size = sizeof plain,
                                  .state = &closed,
                                  .name = "plain",
                                  .uuid = "plain-0",
                                  .driver_version = "1",
                                  .runtime_version = "2",
                                  .make_memory_manager = make_memory_manager,
                                  .create_stream = create,
                                  .destroy_stream = destroy_one,
                                  .synchronize = do_nothing,
                                  .query = query,
                                  .copy_in = copy,
                                  .copy_out = copy,
                                  .copy_within = copy,
                                  .run = run,
                                  .create_event = create,
                                  .destroy_event = destroy_one,
                                  .record = record,
                                  .wait = wait_for,
                                  .synchronize_event = do_nothing,
                                  .elapsed = elapsed,
                                  .close = close_device};
    (void)config, (void)message, (void)message_size;
    plain.memory_size = (uint64_t)closed;
    *device = &plain;
    return CLEAVE_DEVICE_OPENED;
}
