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
 * - The interface grows at the end of cleave_memory_manager only. A member after destroy() exists if struct_size
 * includes it, and is called if its capability bit is set. So a plugin built with an older header stays usable.
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
#define CLEAVE_MEMORY_CAN_OPEN (1u << 9)           /* implements open_ipc */
#define CLEAVE_MEMORY_IS_STREAM_ORDERED (1u << 16) /* release() does not wait for the stream */

/* Properties of requested memory. A manager may ignore "portable", "write combined" and "huge". */
#define CLEAVE_MEMORY_PORTABLE (1u << 0)       /* pinned for all devices */
#define CLEAVE_MEMORY_WRITE_COMBINED (1u << 1) /* the CPU only writes to it */
#define CLEAVE_MEMORY_ZEROED (1u << 2)         /* all bytes are 0; on a device, in stream order */
#define CLEAVE_MEMORY_HUGE (1u << 3)           /* in huge pages */
#define CLEAVE_MEMORY_SECRET (1u << 4)         /* zeroed on release, and left out of core dumps */

/* A property of pinned memory, for pin() only, beside "portable". */
#define CLEAVE_MEMORY_PIN_MAPPED (1u << 5) /* a device reads and writes it at the same address */

/* Memory from a manager. */
typedef struct cleave_memory {
    void* pointer; /* the first byte, at a multiple of the alignment; any value for memory of no bytes */
    size_t size;   /* bytes, at least as many as requested */
    void* handle;  /* for the manager only */
} cleave_memory;

/* The owner of memory that is pinned. pin() retains the object once, and unpinning (release(), reset() or destroy())
 * releases it once, after the memory has been unpinned. Both functions may call the manager, except that
 * an object released by reset() or destroy() may not. */
typedef struct cleave_memory_owner {
    void* object;
    void (*retain)(void* object);
    void (*release)(void* object);
} cleave_memory_owner;

/* What another process needs to map device memory. */
typedef struct cleave_memory_export {
    uint8_t handle[64]; /* for the whole allocation; a cudaIpcMemHandle_t */
    uint32_t handle_size;
    uint32_t process;   /* a number that this machine's other processes do not have; 0: unknown */
    uint64_t offset;    /* where the memory begins in that allocation, in bytes */
    uint64_t size;      /* of the memory, in bytes */
    uint8_t device[16]; /* UUID of the device */
} cleave_memory_export;

typedef struct cleave_memory_manager {
    uint32_t interface_version; /* CLEAVE_MEMORY_MANAGER_VERSION */
    uint32_t struct_size;       /* sizeof(cleave_memory_manager), in the header that the manager was built with */
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

    /* Optional. Pins existing memory, and keeps `owner` until *pinned is released, by any thread. *pinned has the given
     * pointer and size, which need no alignment. Returns EINVAL for no bytes, a null pointer or an unknown flag; EEXIST
     * if any of the memory is pinned already; ENOTSUP for "mapped" if a device uses another address than the CPU. A
     * call that fails does not retain the owner and does not change *pinned. */
    int (*pin)(void* state, const cleave_memory_owner* owner, void* pointer, size_t size, uint32_t flags,
               cleave_memory* pinned);

    /* Optional. The free bytes and the total bytes of the space. ENOTSUP if the manager cannot tell its size. */
    int (*info)(void* state, cleave_memory_space space, uint64_t* free_size, uint64_t* total_size);

    /* Optional. Tells how another process can map the memory, which stays valid until it is released. ENOTSUP for
     * memory that is not on a device. The other process can see the whole allocation, including anything else in it. A
     * call that fails does not change *exported. */
    int (*export_ipc)(void* state, const cleave_memory* memory, cleave_memory_export* exported);

    /* Optional: a manager has both or neither. Between the two calls, it gives no memory back to the system or the
     * driver if that is costly, except when a request would fail otherwise. Secret memory is still zeroed at its
     * release. Calls nest. EINVAL for an end without a begin. */
    int (*defer_cleanup_begin)(void* state);
    int (*defer_cleanup_end)(void* state);

    /* Frees everything that the manager holds, even memory that has not been released, which must not be used or
     * released after that; unpins, and closes what open_ipc opened. May be called before initialize(). The manager can
     * still be used. */
    int (*reset)(void* state);

    /* Frees everything, including the manager itself, which is not used afterwards. */
    void (*destroy)(void* state);

    /* Optional; CLEAVE_MEMORY_CAN_OPEN. Maps device memory that another process exported, on the device with this
     * number, and sets *memory to it. release() unmaps it. The exporting process must not release the memory before.
     * Returns EXDEV if the memory is on another device; EEXIST in the process that exported it, which has the memory;
     * EINVAL for a malformed handle. A call that fails does not change *memory. */
    int (*open_ipc)(void* state, const cleave_memory_export* exported, int32_t device, cleave_memory* memory);
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
