/* What the conformance suite needs from a device but the manager does not provide: copying, and mapping the memory of
 * another process. A library with these functions exports cleave_device_hooks(); --device=/PATH names it. Except
 * for the last one, the functions return 0 or a value from <errno.h>, and wait until the work is done. */
#ifndef CLEAVE_TESTS_DEVICE_HOOKS_H
#define CLEAVE_TESTS_DEVICE_HOOKS_H

#include "cleave/memory_manager.h"

#ifdef __cplusplus
extern "C" {
#endif

// NOLINTBEGIN(cppcoreguidelines-macro-usage,readability-identifier-naming,modernize-redundant-void-arg): names of C
typedef struct cleave_device_hooks {
    int (*write)(void* device, const void* host, size_t size);
    int (*read)(void* host, const void* device, size_t size);
    /* Sets *pointer to the memory that another process exported. */
    int (*open_ipc)(const cleave_memory_export* exported, void** pointer);
    int (*close_ipc)(const cleave_memory_export* exported, void* pointer);
    /* How many bytes of the device are free, as its driver says. */
    int (*free_size)(uint64_t* bytes);
    /* Whether the driver knows the memory: it has allocated, pinned or opened it. 1 or 0. */
    int (*knows)(const void* pointer);
} cleave_device_hooks;

typedef const cleave_device_hooks* (*cleave_device_hooks_function)(void);
#define CLEAVE_DEVICE_HOOKS_SYMBOL "cleave_device_hooks"
// NOLINTEND(cppcoreguidelines-macro-usage,readability-identifier-naming,modernize-redundant-void-arg)

#ifdef __cplusplus
}
#endif

#endif
