/* The library in C: opens a CSV file, counts its records, and plans where to cut it. A program in C, or in any language
 * that calls C, needs only this header. Link with the shared library, or with the static one and a C++ runtime.
 *
 * No function ends the process, prints, or throws. None reads from a mapping, so a file that becomes shorter causes an
 * error, not a SIGBUS. Structs begin with their size, so that later versions can add members: initialise them with
 * their _INIT macros. Only one thread at a time may use a handle; different handles are independent. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "cleave/cleave_scan.h"

// NOLINTBEGIN(cppcoreguidelines-macro-usage,readability-identifier-naming): names and constants of C
#ifdef __cplusplus
extern "C" {
#endif

/* Visible from a shared library, whatever else it hides. */
#define CLEAVE_C_API __attribute__((visibility("default")))

/* What a function returns: 0, or why it failed. The numbers are the exit statuses of the command. */
#define CLEAVE_OK 0
#define CLEAVE_SYSTEM 1   /* the system refused: I/O, permission, no memory */
#define CLEAVE_ARGUMENT 2 /* an argument is not valid */
#define CLEAVE_INPUT 3    /* the input is malformed, or not CSV */
#define CLEAVE_CHANGED 4  /* the input was modified while it was read */

#define CLEAVE_MESSAGE_SIZE 512

/* Why a function failed. A function that succeeds leaves it alone. */
typedef struct cleave_error {
    int32_t status;
    int32_t has_place;                 /* 1 if `byte` and `record` say where in the input */
    uint64_t byte;                     /* from 0 */
    uint64_t record;                   /* from 0, preamble and header counted */
    char message[CLEAVE_MESSAGE_SIZE]; /* ends with NUL; longer messages are truncated */
} cleave_error;

typedef struct cleave_options {
    uint64_t struct_size;     /* sizeof(cleave_options) */
    const char* dialect;      /* the name of a preset, such as "postgres"; NULL: sniff it */
    int32_t delimiter;        /* a byte; -1: the preset's, or else sniffed */
    int32_t has_header;       /* 0 if the first record is data */
    int32_t allow_open_quote; /* not 0: an unclosed quote is not an error */
    uint32_t threads;         /* 0: as many as this process may use */
} cleave_options;
#define CLEAVE_OPTIONS_INIT \
    { sizeof(cleave_options), NULL, -1, 1, 0, 0 }

/* When a piece ends. Set `pieces` alone, or `records`, `max_bytes` or both; 0 means not set. */
typedef struct cleave_limits {
    uint64_t struct_size; /* sizeof(cleave_limits) */
    uint64_t pieces;      /* exactly this many, of nearly equal size */
    uint64_t records;     /* in each piece */
    uint64_t max_bytes;   /* of each piece, including the header repeated in it */
} cleave_limits;
#define CLEAVE_LIMITS_INIT \
    { sizeof(cleave_limits), 0, 0, 0 }

typedef struct cleave_file cleave_file;
typedef struct cleave_plan cleave_plan;

/* The version of the library, such as "0.2.0". Static. */
CLEAVE_C_API const char* cleave_version(void);

/* Opens a file, or standard input for "-", and finds its dialect. Compressed data and pipes are copied, decompressed,
 * to an unlinked temporary file. `options` may be NULL for the defaults, `error` may be NULL. On success, close *file
 * with cleave_close(); otherwise it is NULL. */
CLEAVE_C_API int32_t cleave_open(const char* path, const cleave_options* options, cleave_file** file,
                                 cleave_error* error);

/* Closes the file. Plans made from it stay valid. NULL is allowed. */
CLEAVE_C_API void cleave_close(cleave_file* file);

/* The number of records, not counting the header. The first call that needs it scans the file once. */
CLEAVE_C_API int32_t cleave_count(cleave_file* file, uint64_t* records, cleave_error* error);

/* Copies `size` bytes from `offset` on into `buffer`. The offset is one of the decompressed bytes, as in a plan. It is
 * an error if the file has fewer bytes. */
CLEAVE_C_API int32_t cleave_read(cleave_file* file, uint64_t offset, void* buffer, uint64_t size, cleave_error* error);

/* Plans the pieces. On success, free *plan with cleave_plan_free(); otherwise it is NULL. */
CLEAVE_C_API int32_t cleave_plan_make(cleave_file* file, const cleave_limits* limits, cleave_plan** plan,
                                      cleave_error* error);

/* Frees the plan and its arrays. NULL is allowed. */
CLEAVE_C_API void cleave_plan_free(cleave_plan* plan);

/* How many pieces the plan has. */
CLEAVE_C_API uint64_t cleave_plan_size(const cleave_plan* plan);

/* The size of the header and of everything before it, in bytes; 0 without a header. These bytes come before the first
 * piece. To use a piece by itself, put them in front of it. */
CLEAVE_C_API uint64_t cleave_plan_header_size(const cleave_plan* plan);

/* Arrays of cleave_plan_size() elements, one for each piece, valid until the plan is freed: the offset of its first
 * byte, from 0, after decompression; its size in bytes; the number of its first record, from 1, not counting the
 * header; and how many records it has. */
CLEAVE_C_API const uint64_t* cleave_plan_starts(const cleave_plan* plan);
CLEAVE_C_API const uint64_t* cleave_plan_lengths(const cleave_plan* plan);
CLEAVE_C_API const uint64_t* cleave_plan_first_records(const cleave_plan* plan);
CLEAVE_C_API const uint64_t* cleave_plan_records(const cleave_plan* plan);

#ifdef __cplusplus
}
#endif
// NOLINTEND(cppcoreguidelines-macro-usage,readability-identifier-naming)
