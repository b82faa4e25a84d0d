// Columns for other programs, through the Arrow C data interface
// (https://arrow.apache.org/docs/format/CDataInterface.html). Needs no library of Arrow's.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "cleave/columns.h"
#include "cleave/fields.h"

// The structs of the interface. Whoever gets one calls release() once, unless it is null, or moves the struct: then
// the copy is released, and the first one's `release` is set to null. NOLINTBEGIN(readability-identifier-naming)
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

// Bits of ArrowSchema::flags. NOLINTBEGIN(cppcoreguidelines-macro-usage,modernize-macro-to-enum): as specified
#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4
// NOLINTEND(cppcoreguidelines-macro-usage,modernize-macro-to-enum)

extern "C" {

// The type of an array.
struct ArrowSchema {
    const char* format;    // of the type: "u", "+s"
    const char* name;      // of the field; may be null
    const char* metadata;  // pairs of key and value; may be null
    std::int64_t flags;
    std::int64_t n_children;
    struct ArrowSchema** children;
    struct ArrowSchema* dictionary;
    void (*release)(struct ArrowSchema*);
    void* private_data;  // of the producer
};

// The values of an array.
struct ArrowArray {
    std::int64_t length;      // in values
    std::int64_t null_count;  // -1: unknown
    std::int64_t offset;      // values to skip in the buffers
    std::int64_t n_buffers;
    std::int64_t n_children;
    const void** buffers;
    struct ArrowArray** children;
    struct ArrowArray* dictionary;
    void (*release)(struct ArrowArray*);
    void* private_data;  // of the producer
};
}

#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

extern "C" {

// Batches of one type (https://arrow.apache.org/docs/format/CStreamInterface.html). Calls return 0 or an error number.
struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream*, struct ArrowSchema* out);
    int (*get_next)(struct ArrowArrayStream*, struct ArrowArray* out);  // a released array after the last one
    const char* (*get_last_error)(struct ArrowArrayStream*);            // valid until the next call; may be null
    void (*release)(struct ArrowArrayStream*);
    void* private_data;  // of the producer
};
}

#endif  // NOLINTEND(readability-identifier-naming)

namespace cleave {

// A column to export.
struct ArrowColumn {
    std::size_t number = 0;  // of the column in the input, from 0
    std::string name;        // in UTF-8, without NUL
    bool is_text = false;    // its type is Utf8 and not Binary; values that are not UTF-8 are an error then
};

// Exports columns of a block as a struct array, which importers take as a record batch: one row a record. The formats
// of the columns are "z" or "u". The arrays own their memory, each child its own. `schema` and `array` are overwritten,
// and not before everything has succeeded. Any thread may release them. Throws as ColumnReader::read(), and InputError
// for text that is not UTF-8, std::invalid_argument for a name that cannot be one.
void export_columns(const RecordBlock& block, const ColumnReader& reader, std::span<const ArrowColumn> columns,
                    ArrowSchema* schema, ArrowArray* array);

}  // namespace cleave
