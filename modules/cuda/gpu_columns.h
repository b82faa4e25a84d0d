/* Columns of values in GPU memory, for programs in any language: cleave_cuda.so exports these functions. Columns are
 * exchanged with other programs through the Arrow C device data interface, without copying
 * (https://arrow.apache.org/docs/format/CDeviceDataInterface.html).
 *
 * For all functions:
 * - They return 0 or a value of <errno.h>, and never throw. cleave_gpu_error() gives the reason in words. EINVAL: an
 *   invalid argument; EOVERFLOW: a column of too many rows, or of more bytes than its offsets can say; ENOMEM: out of
 *   memory; ENODEV: no driver or no such card; EIO: a CUDA call failed. A call that fails changes none of its
 * arguments, except *gpu of cleave_gpu_open().
 * - Only one thread at a time may use a cleave_gpu and its columns. This does not apply to exported columns: any thread
 *   may release them, even after cleave_gpu_close(). The library must stay loaded until then.
 * - A call leaves the current CUDA device as it was.
 */
#ifndef CLEAVE_GPU_COLUMNS_H
#define CLEAVE_GPU_COLUMNS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// NOLINTBEGIN(modernize-use-using,modernize-macro-to-enum,cppcoreguidelines-macro-usage): C, and Arrow's names
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

/* An array whose buffers are in device memory. */
struct ArrowDeviceArray {
    struct ArrowArray array;
    int64_t device_id;
    ArrowDeviceType device_type;
    void* sync_event; /* for CUDA a cudaEvent_t*, or null if there is nothing to wait for */
    int64_t reserved[3];
};
#endif

/* A card in use, with its stream and a memory manager. */
typedef struct cleave_gpu cleave_gpu;
/* A column of values, each of which is bytes or null. */
typedef struct cleave_gpu_column cleave_gpu_column;

/* Opens card number `card`. `manager` is "cuda", "cuda-async", "cuda-pool" or "cuda-pool:SIZE". *gpu is set even
 * if this fails, for use with cleave_gpu_error(); it may be null only after ENOMEM. */
int cleave_gpu_open(int32_t card, const char* manager, cleave_gpu** gpu);
/* Waits for the card. `gpu` may be null. After this its columns may only be freed. */
void cleave_gpu_close(cleave_gpu* gpu);
/* One line that says why the last call with `gpu` failed. Valid until the next call with `gpu`. */
const char* cleave_gpu_error(const cleave_gpu* gpu);

/* Copies a column from host memory. Value i has the bytes offsets[i] to offsets[i + 1] - 1; there are rows + 1 offsets,
 * ascending from 0. Bit i % 8 of validity[i / 8] is 1 if row i has a value; if `validity` is null, all rows do. */
int cleave_gpu_column_from_host(cleave_gpu* gpu, const int32_t* offsets, const uint8_t* bytes, const uint8_t* validity,
                                int64_t rows, cleave_gpu_column** column);

/* The same with 64-bit offsets, for columns of more than 2^31 - 1 bytes. */
int cleave_gpu_large_column_from_host(cleave_gpu* gpu, const int64_t* offsets, const uint8_t* bytes,
                                      const uint8_t* validity, int64_t rows, cleave_gpu_column** column);

/* Takes over a column without copying. Its format must be "z" (binary), "u" (utf8), or one of these with 64-bit
 * offsets, "Z" or "U", and its memory CUDA memory of the same card. The column waits for the event of the array. The
 * struct is moved into the column and marked as released; the array itself is released when the column is freed and the
 * card has finished all work that uses it. The caller keeps the schema. Offsets are trusted to ascend. A bitmap is read
 * in whole 4-byte words. */
int cleave_gpu_column_import(cleave_gpu* gpu, const struct ArrowSchema* schema, struct ArrowDeviceArray* array,
                             cleave_gpu_column** column);

/* Hands over a column without copying its bytes. `format` is "z", "u", "Z" or "U"; with "u" and "U" the caller
 * guarantees that the values are UTF-8. Offsets are converted if the format asks for others than the column has.
 * `schema` and `array` are overwritten, and the recipient must release both. The recipient must wait for the event of
 * the array before it reads, and for its own work on the array before it releases it. After this the column has no
 * values and may only be freed. Returns EINVAL for an imported column, which belongs to another program. */
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
