/* Columns of values in the memory of a GPU, for programs in any language: cleave_cuda.so exports these functions. Other
 * programs hand columns over and take them by the Arrow C device data interface, without a copy
 * (https://arrow.apache.org/docs/format/CDeviceDataInterface.html).
 *
 * For all functions:
 * - They return 0 or a value of <errno.h>, and throw nothing. cleave_gpu_error() has the reason in words. EINVAL: an
 *   argument; EOVERFLOW: a column of more than 2^31 - 1 bytes or rows; ENOMEM: no memory; ENODEV: no driver or no such
 *   card; EIO: a call of CUDA failed. A call that fails changes none of its arguments, but for *gpu of
 *   cleave_gpu_open().
 * - A cleave_gpu and its columns are used by one thread at a time. What was exported is free of that: any thread
 *   releases it, also after cleave_gpu_close(). The library has to stay loaded until then.
 * - The current device of CUDA is the same after a call as before it.
 */
#ifndef CLEAVE_GPU_COLUMNS_H
#define CLEAVE_GPU_COLUMNS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// NOLINTBEGIN(modernize-use-using,modernize-macro-to-enum,cppcoreguidelines-macro-usage): C, and names of others
// NOLINTBEGIN(readability-identifier-naming): as above
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
    const char* format;
    const char* name;
    const char* metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema** children;
    struct ArrowSchema* dictionary;
    void (*release)(struct ArrowSchema*);
    void* private_data;
};

struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void** buffers;
    struct ArrowArray** children;
    struct ArrowArray* dictionary;
    void (*release)(struct ArrowArray*);
    void* private_data;
};
#endif

#ifndef ARROW_C_DEVICE_DATA_INTERFACE
#define ARROW_C_DEVICE_DATA_INTERFACE

typedef int32_t ArrowDeviceType;
#define ARROW_DEVICE_CUDA 2

/* An array whose buffers lie in memory of a device. */
struct ArrowDeviceArray {
    struct ArrowArray array;
    int64_t device_id;
    ArrowDeviceType device_type;
    void* sync_event; /* of CUDA: a cudaEvent_t*, or null if there is nothing to wait for */
    int64_t reserved[3];
};
#endif

/* A card at work: its stream, and a memory manager. */
typedef struct cleave_gpu cleave_gpu;
/* A column of values, each of them bytes or null. */
typedef struct cleave_gpu_column cleave_gpu_column;

/* Opens card number `card`. `manager` is "cuda", "cuda-async", "cuda-pool" or "cuda-pool:SIZE". *gpu is set also if
 * this fails, for cleave_gpu_error(), except with ENOMEM: then it may be null. */
int cleave_gpu_open(int32_t card, const char* manager, cleave_gpu** gpu);
/* Waits for the card. `gpu` may be null. Its columns may be freed later, and not used otherwise. */
void cleave_gpu_close(cleave_gpu* gpu);
/* Why the last call with `gpu` failed, one line. Valid until the next call with `gpu`. */
const char* cleave_gpu_error(const cleave_gpu* gpu);

/* Copies a column from host memory. Value i has the bytes offsets[i] to offsets[i + 1] - 1; there are rows + 1 offsets,
 * ascending from 0. Bit i % 8 of validity[i / 8] is 1 if row i has a value; if `validity` is null, all rows have. */
int cleave_gpu_column_from_host(cleave_gpu* gpu, const int32_t* offsets, const uint8_t* bytes, const uint8_t* validity,
                                int64_t rows, cleave_gpu_column** column);

/* Takes a column over, without a copy. Its format is "z" (binary) or "u" (utf8), and its memory is CUDA's, of the same
 * card. The column waits for the event of the array. The struct is moved into the column, and marked as released; it is
 * released when the column is freed, and the card has done what uses it. The schema stays the caller's. Offsets are
 * trusted to ascend. A bitmap is read in whole words of 4 bytes. */
int cleave_gpu_column_import(cleave_gpu* gpu, const struct ArrowSchema* schema, struct ArrowDeviceArray* array,
                             cleave_gpu_column** column);

/* Hands a column over, without a copy. `format` is "z" or "u"; with "u" the caller knows that the values are UTF-8.
 * `schema` and `array` are overwritten, and the receiver releases both. Before the receiver reads, it waits for the
 * event of the array, and before it releases the array, it waits for its own use of it. The column has no values after
 * this, and may only be freed. EINVAL for a column that was imported: it belongs to another. */
int cleave_gpu_column_export(cleave_gpu* gpu, cleave_gpu_column* column, const char* format, struct ArrowSchema* schema,
                             struct ArrowDeviceArray* array);

/* Frees a column. `column` may be null. */
void cleave_gpu_column_free(cleave_gpu_column* column);
// NOLINTEND(readability-identifier-naming)
// NOLINTEND(modernize-use-using,modernize-macro-to-enum,cppcoreguidelines-macro-usage)

#ifdef __cplusplus
}
#endif

#endif
