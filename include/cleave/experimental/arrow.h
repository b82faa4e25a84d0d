// Exports columns to other programs through the Arrow C data interface
// (https://arrow.apache.org/docs/format/CDataInterface.html). Needs no Arrow library.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "cleave/experimental/columns.h"
#include "cleave/fields.h"

// The structs of the interface. The recipient either calls release() exactly once, unless it is null, or moves the
// struct: it then sets `release` of the original to null, and releases the copy.
// NOLINTBEGIN(readability-identifier-naming)
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
    const char* format;    // the type's format string, such as "u" or "+s"
    const char* name;      // the field's name; may be null
    const char* metadata;  // key-value pairs; may be null
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
    std::int64_t offset;      // values to skip at the start of the buffers
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
    int (*get_next)(struct ArrowArrayStream*, struct ArrowArray* out);  // sets a released array at the end
    const char* (*get_last_error)(struct ArrowArrayStream*);            // valid until the next call; may be null
    void (*release)(struct ArrowArrayStream*);
    void* private_data;  // of the producer
};
}

#endif  // NOLINTEND(readability-identifier-naming)

namespace cleave {

// A column to export.
struct ArrowColumn {
    std::size_t number = 0;  // the column's number in the input, from 0
    std::string name;        // UTF-8, without NUL
    bool is_text = false;    // the type is Utf8 instead of Binary, and values that are not UTF-8 are refused
};

// Exports columns of a block as a struct array, which importers take as a record batch: one row per record. The formats
// of the columns are "z" or "u". Each array, including each child, owns its memory, and any thread may release it.
// `schema` and `array` are overwritten only once everything has succeeded. Throws what ColumnReader::read() throws,
// InputError for text that is not UTF-8, and ArgumentError for an invalid name.
void export_columns(const RecordBlock& block, const ColumnReader& reader, std::span<const ArrowColumn> columns,
                    ArrowSchema* schema, ArrowArray* array);

}  // namespace cleave
