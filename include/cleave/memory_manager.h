/* The interface of a memory manager, version 1: where buffers of stages, pages and devices come from.
 *
 * It is C, so any library can be a manager, and a plugin need not be built with cleave's compiler. A plugin is a
 * shared library that exports cleave_memory_manager_open(). doc/guide/memory.md shows how to write one.
 *
 * For all members:
 * - They return 0 or a value from <errno.h>. They do not throw. Any thread may call them at any time before destroy().
 * - The first argument is `state` of the same manager.
 * - An optional member may be a null pointer; its capability bit must then not be set. Where a manager lacks a space or
 *   an optional member, cleave uses its default manager instead.
 * - Devices are numbered from 0. A stream is a cudaStream_t; NULL is the legacy default stream. Host memory ignores it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// NOLINTBEGIN(cppcoreguidelines-macro-usage,readability-identifier-naming): names and constants of C
#define CLEAVE_MEMORY_MANAGER_VERSION 1u

/* Where memory is. */
typedef uint32_t cleave_memory_space;
#define CLEAVE_MEMORY_HOST 0u   /* for the CPU */
#define CLEAVE_MEMORY_PINNED 1u /* for the CPU; never moved or swapped, so a device can copy it directly */
#define CLEAVE_MEMORY_MAPPED 2u /* pinned, and a device reads and writes it at the same address */
#define CLEAVE_MEMORY_DEVICE 3u /* for the device; the CPU must not touch it */

/* What a manager can do. */
#define CLEAVE_MEMORY_CAN_HOST (1u << 0)
#define CLEAVE_MEMORY_CAN_PINNED (1u << 1)
#define CLEAVE_MEMORY_CAN_MAPPED (1u << 2)
#define CLEAVE_MEMORY_CAN_DEVICE (1u << 3)
#define CLEAVE_MEMORY_CAN_PIN (1u << 4)            /* implements pin */
#define CLEAVE_MEMORY_CAN_EXPORT (1u << 5)         /* implements export_ipc */
#define CLEAVE_MEMORY_CAN_INFO (1u << 6)           /* implements info */
#define CLEAVE_MEMORY_CAN_DEFER (1u << 7)          /* implements defer_cleanup_begin and defer_cleanup_end */
#define CLEAVE_MEMORY_CAN_SECRET (1u << 8)         /* implements the flag "secret" on the host; otherwise cleave does */
#define CLEAVE_MEMORY_IS_STREAM_ORDERED (1u << 16) /* release() does not wait for the stream */

/* Properties of requested memory. A manager may ignore "portable", "write combined" and "huge". */
#define CLEAVE_MEMORY_PORTABLE (1u << 0)       /* pinned for all devices */
#define CLEAVE_MEMORY_WRITE_COMBINED (1u << 1) /* the CPU only writes to it */
#define CLEAVE_MEMORY_ZEROED (1u << 2)         /* all bytes are 0; on a device, in stream order */
#define CLEAVE_MEMORY_HUGE (1u << 3)           /* in huge pages */
#define CLEAVE_MEMORY_SECRET (1u << 4)         /* zeroed on release, and left out of core dumps */

/* Memory from a manager. */
typedef struct cleave_memory {
    void* pointer; /* the first byte, at a multiple of the alignment; any value for memory of no bytes */
    size_t size;   /* bytes, at least as many as requested */
    void* handle;  /* for the manager only */
} cleave_memory;

/* The owner of memory that is pinned. pin() retains the object once, and unpinning releases it once. */
typedef struct cleave_memory_owner {
    void* object;
    void (*retain)(void* object);
    void (*release)(void* object);
} cleave_memory_owner;

/* What another process needs to map device memory. */
typedef struct cleave_memory_export {
    uint8_t handle[64]; /* for the whole allocation; a cudaIpcMemHandle_t */
    uint32_t handle_size;
    uint64_t offset;    /* where the memory begins in that allocation, in bytes */
    uint64_t size;      /* of the memory, in bytes */
    uint8_t device[16]; /* UUID of the device */
} cleave_memory_export;

typedef struct cleave_memory_manager {
    uint32_t interface_version; /* CLEAVE_MEMORY_MANAGER_VERSION */
    uint32_t struct_size;       /* sizeof(cleave_memory_manager) */
    uint32_t capabilities;      /* CLEAVE_MEMORY_CAN_... and CLEAVE_MEMORY_IS_... */
    uint32_t reserved;          /* 0 */
    const char* name;           /* for messages; valid until destroy() */
    void* state;

    /* Called before the first use with a device, with its number, or -1 for the host only. May be called again, with
     * the same device or a different one, which must not undo anything. */
    int (*initialize)(void* state, int32_t device);

    /* Sets *memory to memory of at least `size` bytes. Its pointer and size stay the same until it is released.
     * `alignment` is a power of two, or 0: 64 on the host, 256 on a device. If `size` is 0, the memory has no bytes
     * but must still be released. Returns EINVAL for an alignment that is not a power of two or an unknown space or
     * flag, ENOTSUP for a space that the manager lacks, ENOMEM if there is not enough memory. *memory is not read,
     * and a call that fails does not change it. */
    int (*allocate)(void* state, cleave_memory_space space, size_t size, size_t alignment, uint32_t flags, void* stream,
                    cleave_memory* memory);

    /* Releases memory, at once or later. All memory is released exactly once, before destroy(). All work that
     * uses the memory has been submitted to `stream` beforehand. The memory must not be reused until that work is done:
     * a manager that is not stream-ordered waits for the stream. */
    int (*release)(void* state, const cleave_memory* memory, void* stream);

    /* Optional. Pins existing memory, and keeps `owner` until *pinned is released. *pinned has the given pointer and
     * size. Accepts the flag "portable" and the device drivers' flags that it knows. */
    int (*pin)(void* state, const cleave_memory_owner* owner, void* pointer, size_t size, uint32_t flags,
               cleave_memory* pinned);

    /* Optional. The free bytes and the total bytes of the space. ENOTSUP if the manager cannot tell its size. */
    int (*info)(void* state, cleave_memory_space space, uint64_t* free_size, uint64_t* total_size);

    /* Optional. Tells how another process can map the memory, which stays valid until it is released. ENOTSUP for
     * memory that is not on a device. The other process can see the whole allocation, including anything else in it. A
     * call that fails does not change *exported. */
    int (*export_ipc)(void* state, const cleave_memory* memory, cleave_memory_export* exported);

    /* Optional: a manager has both or neither. Between the two calls it does no costly cleaning up. Calls nest. EINVAL
     * for an end without a begin. */
    int (*defer_cleanup_begin)(void* state);
    int (*defer_cleanup_end)(void* state);

    /* Frees everything that the manager holds, even memory that has not been released, which must not be used or
     * released after that. May be called before initialize(). The manager can still be used. */
    int (*reset)(void* state);

    /* Frees everything, including the manager itself, which is not used afterwards. */
    void (*destroy)(void* state);
} cleave_memory_manager;

/* What a plugin exports under the name CLEAVE_MEMORY_MANAGER_SYMBOL. Creates a manager with its own state and
 * sets *manager to it; the manager is valid until its destroy(). `config` is what the user wrote after the path and a
 * colon, or an empty string; it is valid during the call. On failure the function returns a value from <errno.h>,
 * and may write the reason, one line that ends with a zero byte, into the `message_size` bytes at `message`. */
typedef int (*cleave_memory_manager_open_function)(const char* config, const cleave_memory_manager** manager,
                                                   char* message, size_t message_size);
#define CLEAVE_MEMORY_MANAGER_SYMBOL "cleave_memory_manager_open"
// NOLINTEND(cppcoreguidelines-macro-usage,readability-identifier-naming)

#ifdef __cplusplus
}
#endif
