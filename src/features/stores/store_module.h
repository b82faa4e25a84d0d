/* What the module for object stores exports, version 1: cleave_store.so of modules/store. It reads and writes objects
 * under s3://, gs://, https:// and http://.
 *
 * It is C, so the module need not be built with the same compiler or C library as cleave. The functions do not throw.
 * Any thread may call them, and all of them may run at the same time for one store. They block, and try again what a
 * later attempt may achieve: a request that was cut short, that took too long, or that the server asked to repeat.
 * No message contains a secret.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// NOLINTBEGIN(cppcoreguidelines-macro-usage,modernize-*,readability-identifier-naming): it is C
#define CLEAVE_STORE_VERSION 1u
#define CLEAVE_STORE_PORTS 3

/* How a call ended. */
typedef int32_t cleave_store_result;
#define CLEAVE_STORE_DONE 0
#define CLEAVE_STORE_ABSENT 1      /* there is no such object or bucket */
#define CLEAVE_STORE_DENIED 2      /* the server refuses, or there are no credentials */
#define CLEAVE_STORE_CHANGED 3     /* the object is no longer the one that was found */
#define CLEAVE_STORE_UNSUPPORTED 4 /* the server cannot do what is needed, such as sending ranges */
#define CLEAVE_STORE_INVALID 5     /* the URL or a setting cannot be used */
#define CLEAVE_STORE_FAILED 6      /* the network or the server failed; so does every other number */
#define CLEAVE_STORE_CANCELLED 7   /* `is_cancelled` returned nonzero */
#define CLEAVE_STORE_TAKEN 8       /* there is an object of that name, and it must not be replaced */

/* What a store takes as a part of an upload. The last part of an upload may be smaller. */
#define CLEAVE_STORE_LEAST_PART (UINT64_C(5) << 20)
#define CLEAVE_STORE_MOST_PART (UINT64_C(5) << 30)
#define CLEAVE_STORE_MOST_PARTS 10000u

/* The size of a text that tells an object from every other, and a zero byte: its server and path, hashed. */
#define CLEAVE_STORE_PLACE 65

/* What a call may need besides its arguments, and where it explains a failure. */
typedef struct cleave_store_call {
    int (*is_cancelled)(void* context); /* called a few times per second, in the calling thread; may be null */
    void* context;
    char* message; /* gets one line, if the call fails: at most `message_size` bytes, of which the last is zero */
    size_t message_size;
} cleave_store_call;

/* An object as it was found. */
typedef struct cleave_store_facts {
    uint64_t size;       /* in bytes */
    const char* version; /* what tells this content from every other: an entity tag, or a time; as long as the object */
} cleave_store_facts;

typedef struct cleave_store_module {
    uint32_t interface_version; /* CLEAVE_STORE_VERSION */
    uint32_t struct_size;       /* sizeof(cleave_store_module) */

    /* Finds the settings and the credentials for the URLs, of which all have to be in one place: scheme, server and
     * bucket of the first. Reads the environment and the files of the AWS tools; asks for the credentials once, if they
     * come from metadata; and resolves the server's name once, so that what that needs is loaded. Later, it may read
     * the file that AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE names, or one that has replaced it. */
    cleave_store_result (*open)(const char* url, void** store, cleave_store_call* call);
    void (*close)(void* store);

    /* Writes the ports that the store's connections lead to, of which there are at most CLEAVE_STORE_PORTS: the
     * server's and, if the environment names them, the proxy's and that of the metadata which gives the credentials.
     * Returns how many there are. */
    size_t (*ports)(const void* store, uint16_t* into);

    /* Finds an object. Its ranges are read only as long as it stays the same. */
    cleave_store_result (*find)(void* store, const char* url, void** object, cleave_store_call* call);
    const cleave_store_facts* (*facts)(const void* object);
    void (*release)(void* object);

    /* Fills `into` with `size` bytes, at least one, from `offset` on. They are within the object. */
    cleave_store_result (*read)(void* object, uint64_t offset, void* into, size_t size, cleave_store_call* call);

    /* Begins to write an object, in parts. It appears when the upload is completed, and not before: until then the
     * store has its parts, which nobody sees. Only for s3:// and gs://. */
    cleave_store_result (*begin_upload)(void* store, const char* url, void** upload, cleave_store_call* call);
    /* Frees the memory. An upload that is neither completed nor aborted stays in the store. */
    void (*release_upload)(void* upload);

    /* Uploads part `number`, from 1. The object consists of its parts in the order of their numbers, without gaps.
     * Every part is uploaded or copied by one successful call. At least CLEAVE_STORE_LEAST_PART bytes, unless it is the
     * last part; there may be none if it is the only one. */
    cleave_store_result (*upload_part)(void* upload, uint32_t number, const void* bytes, size_t size,
                                       cleave_store_call* call);
    /* The same with a range of an object, which may be of another store: the store copies it, and nothing is moved
     * otherwise. CLEAVE_STORE_UNSUPPORTED if it cannot, because the stores are on different servers, are used with
     * different credentials or have no such request, or because the object is too small; nothing has been sent then, or
     * the server has refused. */
    cleave_store_result (*copy_part)(void* upload, uint32_t number, const void* object, uint64_t offset, uint64_t size,
                                     cleave_store_call* call);

    /* Makes the object of all its parts, of which there is at least one. CLEAVE_STORE_TAKEN if there is an object of
     * that name, unless `replaces` is nonzero: then that object is gone. Stores that cannot tell replace it. */
    cleave_store_result (*complete_upload)(void* upload, int replaces, cleave_store_call* call);
    /* Makes the store forget the parts. Succeeds if the upload no longer exists, unless complete_upload() failed and
     * could not find out whether there is an object: then it is CLEAVE_STORE_ABSENT. */
    cleave_store_result (*abort_upload)(void* upload, cleave_store_call* call);

    /* Removes an object. Succeeds if it does not exist. */
    cleave_store_result (*remove)(void* store, const char* url, cleave_store_call* call);
    /* Aborts all uploads of this name that are in the store, whoever began them. */
    cleave_store_result (*abort_uploads)(void* store, const char* url, cleave_store_call* call);

    /* Writes the place of an object: CLEAVE_STORE_PLACE bytes. Two URLs, also of different stores and schemes, mean one
     * object if their places are equal. Asks nobody, so it does not know of redirections and of other names that a
     * server has. */
    cleave_store_result (*place)(const void* store, const char* url, char* into, cleave_store_call* call);
} cleave_store_module;

/* The function that the module exports. Its result is valid for as long as the module is loaded. */
#define CLEAVE_STORE_SYMBOL "cleave_store_open"
typedef const cleave_store_module* (*cleave_store_open_function)(void);
// NOLINTEND(cppcoreguidelines-macro-usage,modernize-*,readability-identifier-naming)

#ifdef __cplusplus
}
#endif
