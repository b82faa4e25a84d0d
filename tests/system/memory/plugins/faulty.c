/* The manager of doc/guide/memory.md, broken in one place. CONFIG is FAULT or FAULT=NUMBER; see kFaults. */
#define _POSIX_C_SOURCE 200809L
#include <sched.h>
#include <stddef.h>

#define cleave_memory_manager_open open_documented
#include "documented.c" /* extracted from doc/guide/memory.md */
#undef cleave_memory_manager_open

static int number; /* from CONFIG. A test opens one manager at a time. */

static int fail_to_initialize(void* object, int32_t device) {
    (void)object, (void)device;
    return ENODEV;
}

static int initialize_by_reset(void* object, int32_t device) {
    (void)device;
    return reset(object);
}

/* Call number `number` and all later calls fail. */
static int allocate_until(void* object, cleave_memory_space space, size_t size, size_t alignment, uint32_t flags,
                          void* stream, cleave_memory* memory) {
    if (--number <= 0) return ENOMEM;
    return allocate(object, space, size, alignment, flags, stream, memory);
}

/* Only call number `number` fails. */
static int allocate_but_once(void* object, cleave_memory_space space, size_t size, size_t alignment, uint32_t flags,
                             void* stream, cleave_memory* memory) {
    if (--number == 0) return EIO;
    return allocate(object, space, size, alignment, flags, stream, memory);
}

static int refuse(void* object, cleave_memory_space space, size_t size, size_t alignment, uint32_t flags, void* stream,
                  cleave_memory* memory) {
    (void)object, (void)space, (void)size, (void)alignment, (void)flags, (void)stream, (void)memory;
    return EINVAL;
}

static int allocate_too_little(void* object, cleave_memory_space space, size_t size, size_t alignment, uint32_t flags,
                               void* stream, cleave_memory* memory) {
    return allocate(object, space, size - (size > 0), alignment, flags, stream, memory);
}

static int allocate_misaligned(void* object, cleave_memory_space space, size_t size, size_t alignment, uint32_t flags,
                               void* stream, cleave_memory* memory) {
    const int error = allocate(object, space, size + 8, alignment, flags, stream, memory);
    if (error != 0) return error;
    memory->pointer = (char*)memory->pointer + 8;
    memory->size -= 8;
    return error;
}

/* The same for device memory only, which is never touched. */
static int allocate_too_little_there(void* object, cleave_memory_space space, size_t size, size_t alignment,
                                     uint32_t flags, void* stream, cleave_memory* memory) {
    if (space != CLEAVE_MEMORY_DEVICE) return allocate(object, space, size, alignment, flags, stream, memory);
    return allocate_too_little(object, CLEAVE_MEMORY_HOST, size, alignment, flags, stream, memory);
}

static int allocate_misaligned_there(void* object, cleave_memory_space space, size_t size, size_t alignment,
                                     uint32_t flags, void* stream, cleave_memory* memory) {
    if (space != CLEAVE_MEMORY_DEVICE) return allocate(object, space, size, alignment, flags, stream, memory);
    return allocate_misaligned(object, CLEAVE_MEMORY_HOST, size, alignment, flags, stream, memory);
}

static int allocate_nothing(void* object, cleave_memory_space space, size_t size, size_t alignment, uint32_t flags,
                            void* stream, cleave_memory* memory) {
    (void)object, (void)space, (void)size, (void)alignment, (void)flags, (void)stream, (void)memory;
    return 0;
}

/* Reports a larger size than the memory has: the last bytes belong to the next memory. Not thread-safe. */
static int allocate_and_lie(void* object, cleave_memory_space space, size_t size, size_t alignment, uint32_t flags,
                            void* stream, cleave_memory* memory) {
    static char arena[1 << 24];
    static size_t used;
    const int error = allocate(object, space, size, alignment, flags, stream, memory);
    if (error != 0 || size == 0 || alignment > 4096 || size > 500000) return error;
    if (used + size > sizeof arena - 16384) used = 0;
    memory->pointer = (char*)(((uintptr_t)(arena + used) + 4095) / 4096 * 4096);
    memory->size = size + 4096;
    used += (size + 4095) / 4096 * 4096;
    return 0;
}

/* Does not zero memory, and accepts unknown flags and alignments. */
static int allocate_carelessly(void* object, cleave_memory_space space, size_t size, size_t alignment, uint32_t flags,
                               void* stream, cleave_memory* memory) {
    (void)flags;
    if (alignment != 0 && (alignment & (alignment - 1)) != 0) alignment = 64;
    memory->size = 0; /* even when it fails */
    return allocate(object, space, size, alignment, 0, stream, memory);
}

static int keep(void* object, const cleave_memory* memory, void* stream) {
    (void)object, (void)memory, (void)stream;
    return 0;
}

static int reset_nothing(void* object) {
    (void)object;
    return 0;
}

static int crash(void* object) {
    (void)object;
    abort();
}

static int end_without_begin(void* object) {
    (void)object;
    return 0;
}

static int depth; /* as for `number` */
static int begin_nothing(void* object) {
    (void)object;
    ++depth;
    return 0;
}
static int end_nothing(void* object) {
    (void)object;
    return depth > 0 ? --depth, 0 : EINVAL;
}

static int tell_too_much(void* object, cleave_memory_space space, uint64_t* free_size, uint64_t* total_size) {
    const int error = info(object, space, free_size, total_size);
    *total_size = *free_size - 1;
    return error;
}

static void destroy_nothing(void* object) { (void)object; }

/* Behaves as if there were no mutex: lets a second thread in halfway. */
static int allocate_shared(void* object, cleave_memory_space space, size_t size, size_t alignment, uint32_t flags,
                           void* stream, cleave_memory* memory) {
    static cleave_memory last;
    const int error = allocate(object, space, size, alignment, flags, stream, memory);
    if (error != 0) return error;
    last = *memory;
    sched_yield();
    *memory = last;
    return 0;
}

/* Does not retain the owner. */
static int pin_alone(void* object, const cleave_memory_owner* owner, void* pointer, size_t size, uint32_t flags,
                     cleave_memory* pinned) {
    (void)object, (void)owner;
    if (pointer == NULL || size == 0 || (flags & ~CLEAVE_MEMORY_PORTABLE) != 0) return EINVAL;
    pinned->pointer = pointer;
    pinned->size = size;
    pinned->handle = NULL;
    return 0;
}

static void break_version(cleave_memory_manager* manager) { manager->interface_version = 7; }
static void break_struct_size(cleave_memory_manager* manager) { manager->struct_size = 40; }
/* As a plugin that was built with the first header: open_ipc is not in its structure. */
static void shorten(cleave_memory_manager* manager) {
    manager->struct_size = offsetof(cleave_memory_manager, open_ipc);
    memset(&manager->open_ipc, 0xA5, sizeof manager->open_ipc);
}
static void break_first_header(cleave_memory_manager* manager) {
    shorten(manager);
    manager->capabilities |= CLEAVE_MEMORY_CAN_OPEN;
}
static void break_open(cleave_memory_manager* manager) { manager->capabilities |= CLEAVE_MEMORY_CAN_OPEN; }
static void break_member(cleave_memory_manager* manager) { manager->release = NULL; }
static void break_name(cleave_memory_manager* manager) { manager->name = NULL; }
static void break_capabilities(cleave_memory_manager* manager) { manager->capabilities |= CLEAVE_MEMORY_CAN_PIN; }
static void break_info(cleave_memory_manager* manager) { manager->info = NULL; }
static void break_defer(cleave_memory_manager* manager) { manager->defer_cleanup_begin = end_without_begin; }
static void break_initialize(cleave_memory_manager* manager) { manager->initialize = fail_to_initialize; }
static void break_initialize_again(cleave_memory_manager* manager) { manager->initialize = initialize_by_reset; }
static void break_allocate(cleave_memory_manager* manager) { manager->allocate = allocate_until; }
static void break_allocate_once(cleave_memory_manager* manager) { manager->allocate = allocate_but_once; }
static void break_arguments(cleave_memory_manager* manager) { manager->allocate = refuse; }
static void break_size(cleave_memory_manager* manager) { manager->allocate = allocate_too_little; }
static void break_alignment(cleave_memory_manager* manager) { manager->allocate = allocate_misaligned; }
static void break_size_there(cleave_memory_manager* manager) {
    manager->capabilities |= CLEAVE_MEMORY_CAN_DEVICE;
    manager->allocate = allocate_too_little_there;
}
static void break_alignment_there(cleave_memory_manager* manager) {
    manager->capabilities |= CLEAVE_MEMORY_CAN_DEVICE;
    manager->allocate = allocate_misaligned_there;
}
static void break_memory(cleave_memory_manager* manager) { manager->allocate = allocate_nothing; }
static void break_neighbours(cleave_memory_manager* manager) { manager->allocate = allocate_and_lie; }
static void break_care(cleave_memory_manager* manager) { manager->allocate = allocate_carelessly; }
static void break_release(cleave_memory_manager* manager) { manager->release = keep; }
static void break_reset(cleave_memory_manager* manager) { manager->reset = reset_nothing; }
static void break_process(cleave_memory_manager* manager) { manager->reset = crash; }
static void break_secret(cleave_memory_manager* manager) { manager->capabilities |= CLEAVE_MEMORY_CAN_SECRET; }
static void break_name_text(cleave_memory_manager* manager) { manager->name = "a\033[2Jb"; }
static void break_depth(cleave_memory_manager* manager) {
    manager->capabilities |= CLEAVE_MEMORY_CAN_DEFER;
    manager->defer_cleanup_begin = manager->defer_cleanup_end = end_without_begin;
}
static void break_deferral(cleave_memory_manager* manager) {
    manager->capabilities |= CLEAVE_MEMORY_CAN_DEFER;
    manager->defer_cleanup_begin = begin_nothing;
    manager->defer_cleanup_end = end_nothing;
}
static void break_owner(cleave_memory_manager* manager) {
    manager->capabilities |= CLEAVE_MEMORY_CAN_PIN;
    manager->pin = pin_alone;
}
static void break_spaces(cleave_memory_manager* manager) { manager->capabilities &= ~CLEAVE_MEMORY_CAN_HOST; }
static void break_bits(cleave_memory_manager* manager) { manager->capabilities |= 1u << 30; }
static void break_total(cleave_memory_manager* manager) { manager->info = tell_too_much; }
static void break_destroy(cleave_memory_manager* manager) { manager->destroy = destroy_nothing; }
static void break_lock(cleave_memory_manager* manager) { manager->allocate = allocate_shared; }
static void break_nothing(cleave_memory_manager* manager) { (void)manager; }

static const struct fault {
    const char* name;
    void (*make)(cleave_memory_manager* manager);
} kFaults[] = {
    {"version", break_version},
    {"struct-size", break_struct_size},
    {"first-header", shorten},
    {"open-without-room", break_first_header},
    {"open-without-member", break_open},
    {"no-release", break_member},
    {"no-name", break_name},
    {"pin-without-member", break_capabilities},
    {"info-without-member", break_info},
    {"begin-without-end", break_defer},
    {"initialize", break_initialize},
    {"initialize-again", break_initialize_again},
    {"allocate-from", break_allocate},
    {"allocate-number", break_allocate_once},
    {"arguments", break_arguments},
    {"too-small", break_size},
    {"misaligned", break_alignment},
    {"device-too-small", break_size_there},
    {"device-misaligned", break_alignment_there},
    {"no-memory", break_memory},
    {"lies", break_neighbours},
    {"careless", break_care},
    {"leaks", break_release},
    {"no-reset", break_reset},
    {"crash", break_process},
    {"secret", break_secret},
    {"name", break_name_text},
    {"defer-depth", break_depth},
    {"no-deferral", break_deferral},
    {"pin-alone", break_owner},
    {"no-space", break_spaces},
    {"unknown-capability", break_bits},
    {"free-over-total", break_total},
    {"no-destroy", break_destroy},
    {"unlocked", break_lock},
    {"none", break_nothing},
};

/* FAULT may also be a fault of open() itself: null-manager; one-state, which returns the same manager each time; or
 * open=MESSAGE, which fails with that message. */
int cleave_memory_manager_open(const char* config, const cleave_memory_manager** manager, char* message,
                               size_t message_size) {
    const size_t length = strcspn(config, "=");
    const char* const text = config[length] != 0 ? config + length + 1 : "";
    if (strncmp(config, "open", length) == 0) {
        size_t i = 0;
        for (; text[i] != 0 && i < message_size; ++i) message[i] = text[i]; /* unterminated if it is long */
        if (i < message_size) message[i] = 0;
        return EBUSY;
    }
    static const cleave_memory_manager* only;
    if (strcmp(config, "one-state") == 0 && only == NULL) open_documented("", &only, message, message_size);
    *manager = only;
    if (only != NULL) return 0;
    if (strcmp(config, "null-manager") == 0) return 0;
    number = atoi(text);
    for (size_t i = 0; i < sizeof kFaults / sizeof *kFaults; ++i) {
        if (strlen(kFaults[i].name) != length || strncmp(config, kFaults[i].name, length) != 0) continue;
        /* Nobody destroys a manager that is refused, and a leak check would find it if nothing pointed to it. */
        static const cleave_memory_manager* opened[sizeof kFaults / sizeof *kFaults];
        const int error = open_documented("", manager, message, message_size);
        if (error == 0) kFaults[i].make(&((state*)(*manager)->state)->manager);
        opened[i] = *manager;
        (void)opened;
        return error;
    }
    snprintf(message, message_size, "no fault '%s'", config);
    return EINVAL;
}
