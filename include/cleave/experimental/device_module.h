/* The device interface, version 1: what a module, which is a shared library, implements so that cleave can use a
 * device.
 *
 * It is C, so a module need not be built with the same compiler or C library as cleave: one module works with
 * every build. doc/guide/devices.md says how a module is found.
 *
 * For all members:
 * - They do not throw. Any thread may call them; only one thread at a time uses a stream or an event.
 * - The first argument is `state` of the same device.
 * - An optional member may be a null pointer.
 * - Streams and events belong to the device that created them, and are destroyed before it. Work on a stream is done
 *   in order. A member that submits work may return before the work is done; if that work fails, any later member may
 *   return the fault. After CLEAVE_DEVICE_LOST every member returns CLEAVE_DEVICE_LOST.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "cleave/memory_manager.h"

#ifdef __cplusplus
extern "C" {
#endif

// NOLINTBEGIN(cppcoreguidelines-macro-usage,readability-identifier-naming): names and constants of C
#define CLEAVE_DEVICE_VERSION 1u

/* The result of a call. */
typedef uint32_t cleave_device_fault;
#define CLEAVE_DEVICE_GOOD 0u
#define CLEAVE_DEVICE_OUT_OF_MEMORY 1u
#define CLEAVE_DEVICE_FAILED 2u /* this call failed */
#define CLEAVE_DEVICE_LOST 3u   /* no call can succeed any more */

typedef struct cleave_device_status {
    cleave_device_fault fault;
    char text[192]; /* details of a fault: one line that ends with a zero byte, or nothing */
} cleave_device_status;

/* Work done on the host when a stream reaches it, or at once if it only submits work to the stream. */
typedef struct cleave_device_work {
    const char* name; /* for messages; valid during the call that submits it */
    uint64_t bytes;   /* bytes that it reads, if known */
    void* object;
    void (*run)(void* object, void* stream); /* called at most once, on any thread, with the device current */
    void (*release)(void* object);           /* called once: after run(), or when run() will never be called */
} cleave_device_work;

typedef struct cleave_device {
    uint32_t interface_version; /* CLEAVE_DEVICE_VERSION */
    uint32_t struct_size;       /* sizeof(cleave_device) */
    void* state;

    /* What the device is; valid until close(). */
    const char* name;
    const char* uuid;     /* stays the same for as long as the card does */
    uint64_t memory_size; /* bytes */
    const char* driver_version;
    const char* runtime_version;

    /* Creates a manager for the spaces "device", "pinned" and "mapped". The manager and its memory may outlive the
     * device. Returns null if there is not enough memory. */
    const cleave_memory_manager* (*make_memory_manager)(void* state);

    /* Optional. The device's clock, in seconds since any fixed moment. Without it, the host's clock is used. */
    double (*seconds)(void* state);

    /* Optional. The entry point with this name, for functions compiled into the module; null if there is none. What
     * it points to depends on the name. It is valid until close(). */
    const void* (*entry)(void* state, const char* name);

    cleave_device_status (*create_stream)(void* state, void** stream);
    /* Waits for the stream's work. */
    void (*destroy_stream)(void* state, void* stream);
    cleave_device_status (*synchronize)(void* state, void* stream);
    /* Sets *is_done to 1 if all work of the stream is done, else to 0. */
    cleave_device_status (*query)(void* state, void* stream, int32_t* is_done);

    /* These submit a copy of `size` bytes. Host memory need not be pinned, but if it is not, the call may take longer
     * to return. */
    cleave_device_status (*copy_in)(void* state, void* to_device, const void* from_host, size_t size, void* stream);
    cleave_device_status (*copy_out)(void* state, void* to_host, const void* from_device, size_t size, void* stream);
    cleave_device_status (*copy_within)(void* state, void* to_device, const void* from_device, size_t size,
                                        void* stream);

    /* Submits host work. *work is read only during the call. If the call fails, work->release is still called. */
    cleave_device_status (*run)(void* state, const cleave_device_work* work, void* stream);

    cleave_device_status (*create_event)(void* state, void** event);
    void (*destroy_event)(void* state, void* event);
    /* The event happens when the stream reaches this point. */
    cleave_device_status (*record)(void* state, void* event, void* stream);
    /* The stream continues once the event, as last recorded, has happened. */
    cleave_device_status (*wait)(void* state, void* stream, void* event);
    /* The calling thread waits for the event. */
    cleave_device_status (*synchronize_event)(void* state, void* event);
    /* Sets *seconds to the time from one event to a later one. Both must have happened. */
    cleave_device_status (*elapsed)(void* state, void* from, void* to, double* seconds);

    /* Frees the device, which is not used afterwards. */
    void (*close)(void* state);
} cleave_device;

/* What cleave_device_open() returns. */
typedef uint32_t cleave_device_opening;
#define CLEAVE_DEVICE_OPENED 0u
#define CLEAVE_DEVICE_NO_DRIVER 1u
#define CLEAVE_DEVICE_NO_CARD 2u
#define CLEAVE_DEVICE_NOT_OPENED 3u /* for another reason */

/* What a module exports under the name CLEAVE_DEVICE_SYMBOL. Creates a device with its own state and sets
 * *device to it; the device is valid until its close(). `config` is a card number, what the user wrote after the
 * module's path and a colon, or an empty string; it is valid during the call. On failure the function may write the
 * reason, one line that ends with a zero byte, into the `message_size` bytes at `message`. */
typedef cleave_device_opening (*cleave_device_open_function)(const char* config, const cleave_device** device,
                                                             char* message, size_t message_size);
#define CLEAVE_DEVICE_SYMBOL "cleave_device_open"
// NOLINTEND(cppcoreguidelines-macro-usage,readability-identifier-naming)

#ifdef __cplusplus
}
#endif
