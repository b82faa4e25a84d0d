/* The interface of a memory manager, version 1: where buffers of stages, pages and devices come from.
 *
 * It is C, so that any library can be a manager, and a plugin need not be built with the compiler of cleave. A plugin
 * is a shared library that exports cleave_memory_manager_open(). doc/memory.md shows how to write one.
 *
 * For all members:
 * - They return 0 or a value of <errno.h>. They do not throw. Any thread may call them at any time, before destroy().
 * - The first argument is `state` of the same manager.
 * - A member that is optional may be a null pointer; then its capability bit must not be set. Where a manager lacks a
 *   space or an optional member, cleave uses its default manager for it.
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
#define CLEAVE_MEMORY_PINNED 1u /* for the CPU; never moved or swapped, so that a device copies it by itself */
#define CLEAVE_MEMORY_MAPPED 2u /* pinned, and a device reads and writes it at the same address */
#define CLEAVE_MEMORY_DEVICE 3u /* for the device; the CPU must not touch it */

/* What a manager can do. */
#define CLEAVE_MEMORY_CAN_HOST (1u << 0)
#define CLEAVE_MEMORY_CAN_PINNED (1u << 1)
#define CLEAVE_MEMORY_CAN_MAPPED (1u << 2)
#define CLEAVE_MEMORY_CAN_DEVICE (1u << 3)
#define CLEAVE_MEMORY_CAN_PIN (1u << 4)    /* has pin */
#define CLEAVE_MEMORY_CAN_EXPORT (1u << 5) /* has export_ipc */
#define CLEAVE_MEMORY_CAN_INFO (1u << 6)   /* has info */
#define CLEAVE_MEMORY_CAN_DEFER (1u << 7)  /* has defer_cleanup_begin and defer_cleanup_end */
#define CLEAVE_MEMORY_CAN_SECRET (1u << 8) /* does what the flag "secret" says on the host; else cleave does it */
#define CLEAVE_MEMORY_IS_STREAM_ORDERED (1u << 16) /* release() does not wait for the stream */

/* How memory is wanted. A manager may ignore "portable", "write combined" and "huge". */
#define CLEAVE_MEMORY_PORTABLE (1u << 0)       /* pinned for all devices */
#define CLEAVE_MEMORY_WRITE_COMBINED (1u << 1) /* the CPU only writes it */
#define CLEAVE_MEMORY_ZEROED (1u << 2)         /* all bytes are 0, in the order of the stream on a device */
#define CLEAVE_MEMORY_HUGE (1u << 3)           /* in huge pages */
#define CLEAVE_MEMORY_SECRET (1u << 4)         /* zeroed on release, and left out of core dumps */

/* Memory that a manager gave. */
typedef struct cleave_memory {
    void* pointer; /* the first byte, at a multiple of the alignment; any value if no byte was asked for */
    size_t size;   /* bytes, at least what was asked for */
    void* handle;  /* for the manager alone */
} cleave_memory;

/* Somebody who owns memory that is pinned. It is retained once by pin(), and released once when it is unpinned. */
typedef struct cleave_memory_owner {
    void* object;
    void (*retain)(void* object);
    void (*release)(void* object);
} cleave_memory_owner;

/* What another process needs to map device memory. */
typedef struct cleave_memory_export {
    uint8_t handle[64]; /* of the whole allocation; a cudaIpcMemHandle_t */
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

    /* Called before the first use with a device, with its number, or -1 for the host alone. May be called again, with
     * the same or another device; that must not undo anything. */
    int (*initialize)(void* state, int32_t device);

    /* Sets *memory to memory of at least `size` bytes. Its pointer and size stay the same until it is released.
     * `alignment` is a power of two, or 0: 64 on the host, 256 on a device. With `size` 0 the memory has no bytes and
     * must be released too. Returns EINVAL for an alignment that is no power of two or an unknown space or flag,
     * ENOTSUP for a space that the manager lacks, ENOMEM if there is not enough memory. *memory is not read, and it is
     * not changed by a call that fails. */
    int (*allocate)(void* state, cleave_memory_space space, size_t size, size_t alignment, uint32_t flags, void* stream,
                    cleave_memory* memory);

    /* Gives memory back, at once or later. Every memory is released once, before destroy(). All uses of the memory were
     * submitted to `stream` before. The memory must not be used again before they are done: a manager that is not
     * stream-ordered waits for the stream. */
    int (*release)(void* state, const cleave_memory* memory, void* stream);

    /* Optional. Pins memory that exists, and keeps `owner` until *pinned is released. The pointer and the size of
     * *pinned are those given. Takes the flags "portable" and those of device drivers that it knows. */
    int (*pin)(void* state, const cleave_memory_owner* owner, void* pointer, size_t size, uint32_t flags,
               cleave_memory* pinned);

    /* Optional. Bytes of the space that are free, and all bytes of it. ENOTSUP for a space that it cannot tell. */
    int (*info)(void* state, cleave_memory_space space, uint64_t* free_size, uint64_t* total_size);

    /* Optional. How another process maps the memory, which stays valid until it is released. ENOTSUP for memory that is
     * not of a device. The other process can see the whole allocation, also what else lies in it. *exported is not
     * changed by a call that fails. */
    int (*export_ipc)(void* state, const cleave_memory* memory, cleave_memory_export* exported);

    /* Optional, both or neither. Between the two calls nothing costly is done to clean up. They nest. EINVAL for an end
     * without a begin. */
    int (*defer_cleanup_begin)(void* state);
    int (*defer_cleanup_end)(void* state);

    /* Frees everything that the manager holds, also memory that was not released: it must not be used or released any
     * more. Legal before initialize(). The manager can be used again. */
    int (*reset)(void* state);

    /* Frees everything, and the manager itself. It is not used after that. */
    void (*destroy)(void* state);
} cleave_memory_manager;

/* What a plugin exports, under the name of CLEAVE_MEMORY_MANAGER_SYMBOL. Makes a manager with a state of its own and
 * sets *manager to it; it is valid until its destroy(). `config` is what the user wrote after the path and a colon, or
 * an empty string; it is valid during the call. On failure returns a value of <errno.h>, and may write the reason, one
 * line that ends with a zero byte, into the `message_size` bytes at `message`. */
typedef int (*cleave_memory_manager_open_function)(const char* config, const cleave_memory_manager** manager,
                                                   char* message, size_t message_size);
#define CLEAVE_MEMORY_MANAGER_SYMBOL "cleave_memory_manager_open"
// NOLINTEND(cppcoreguidelines-macro-usage,readability-identifier-naming)

#ifdef __cplusplus
}
#endif
