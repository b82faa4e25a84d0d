/* The interface of a device, version 1: what a module, a shared library, implements so that cleave can work on a
 * device.
 *
 * It is C, so that a module need not be built with the compiler or the C library of cleave: one module serves every
 * build. doc/devices.md says how a module is found.
 *
 * For all members:
 * - They do not throw. Any thread may call them; a stream and an event are used by one thread at a time.
 * - The first argument is `state` of the same device.
 * - A member that is optional may be a null pointer.
 * - Streams and events belong to the device that made them, and are destroyed before it. Work on a stream is done in
 *   order. A member that submits work may return before the work is done, and a fault of the work may be returned by
 *   any later member. After CLEAVE_DEVICE_LOST all members return that.
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

/* What became of a call. */
typedef uint32_t cleave_device_fault;
#define CLEAVE_DEVICE_GOOD 0u
#define CLEAVE_DEVICE_OUT_OF_MEMORY 1u
#define CLEAVE_DEVICE_FAILED 2u /* this call failed */
#define CLEAVE_DEVICE_LOST 3u   /* no call can succeed any more */

typedef struct cleave_device_status {
    cleave_device_fault fault;
    char text[192]; /* more about a fault: one line that ends with a zero byte, or nothing */
} cleave_device_status;

/* Work that is done on the host when a stream comes to it, or at once if it only submits work to the stream. */
typedef struct cleave_device_work {
    const char* name; /* for messages; valid during the call that submits it */
    uint64_t bytes;   /* that are read, as far as that is known */
    void* object;
    void (*run)(void* object, void* stream); /* called once at most, on any thread, with the device current */
    void (*release)(void* object);           /* called once: after run(), or when it is never going to be called */
} cleave_device_work;

typedef struct cleave_device {
    uint32_t interface_version; /* CLEAVE_DEVICE_VERSION */
    uint32_t struct_size;       /* sizeof(cleave_device) */
    void* state;

    /* What the device is; valid until close(). */
    const char* name;
    const char* uuid;     /* the same for as long as the card is the same */
    uint64_t memory_size; /* bytes */
    const char* driver_version;
    const char* runtime_version;

    /* A new manager of the spaces device, pinned and mapped. It and its memory may live longer than the device. Null if
     * there is not enough memory. */
    const cleave_memory_manager* (*make_memory_manager)(void* state);

    /* Optional. The time that the device keeps, in seconds since any moment that stays the same. Without it, the host's
     * time is taken. */
    double (*seconds)(void* state);

    /* Optional. An entry point of that name, for functions that are compiled into the module; null if it has none. What
     * it points to is a matter of the name, and is valid until close(). */
    const void* (*entry)(void* state, const char* name);

    cleave_device_status (*create_stream)(void* state, void** stream);
    /* Waits for the work of the stream. */
    void (*destroy_stream)(void* state, void* stream);
    cleave_device_status (*synchronize)(void* state, void* stream);
    /* Sets *is_done to 1 if all work of the stream is done, else to 0. */
    cleave_device_status (*query)(void* state, void* stream, int32_t* is_done);

    /* Submit a copy of `size` bytes. Host memory may be pinned or not; if it is not, the call may return late. */
    cleave_device_status (*copy_in)(void* state, void* to_device, const void* from_host, size_t size, void* stream);
    cleave_device_status (*copy_out)(void* state, void* to_host, const void* from_device, size_t size, void* stream);
    cleave_device_status (*copy_within)(void* state, void* to_device, const void* from_device, size_t size,
                                        void* stream);

    /* Submits work of the host. *work is read during the call. If the call fails, work->release is called all the
     * same. */
    cleave_device_status (*run)(void* state, const cleave_device_work* work, void* stream);

    cleave_device_status (*create_event)(void* state, void** event);
    void (*destroy_event)(void* state, void* event);
    /* The event happens when the stream comes to this place. */
    cleave_device_status (*record)(void* state, void* event, void* stream);
    /* The stream goes on when the event, as it was recorded last, has happened. */
    cleave_device_status (*wait)(void* state, void* stream, void* event);
    /* The calling thread waits for the event. */
    cleave_device_status (*synchronize_event)(void* state, void* event);
    /* Sets *seconds to the time from one event to a later one. Both have happened. */
    cleave_device_status (*elapsed)(void* state, void* from, void* to, double* seconds);

    /* Frees the device itself. It is not used after that. */
    void (*close)(void* state);
} cleave_device;

/* What cleave_device_open() returns. */
typedef uint32_t cleave_device_opening;
#define CLEAVE_DEVICE_OPENED 0u
#define CLEAVE_DEVICE_NO_DRIVER 1u
#define CLEAVE_DEVICE_NO_CARD 2u
#define CLEAVE_DEVICE_NOT_OPENED 3u /* for another reason */

/* What a module exports, under the name of CLEAVE_DEVICE_SYMBOL. Makes a device with a state of its own and sets
 * *device to it; it is valid until its close(). `config` is the number of a card, or what the user wrote after the
 * module's path and a colon, or an empty string; it is valid during the call. On failure it may write the reason, one
 * line that ends with a zero byte, into the `message_size` bytes at `message`. */
typedef cleave_device_opening (*cleave_device_open_function)(const char* config, const cleave_device** device,
                                                             char* message, size_t message_size);
#define CLEAVE_DEVICE_SYMBOL "cleave_device_open"
// NOLINTEND(cppcoreguidelines-macro-usage,readability-identifier-naming)

#ifdef __cplusplus
}
#endif
