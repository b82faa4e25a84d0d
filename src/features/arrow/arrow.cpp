// The private_data of each exported struct points to an object that owns everything the struct points to. Children are
// structs inside their parent's object, but they own their memory themselves, because an importer may move them out and
// release them later.
#include "cleave/experimental/arrow.h"

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text_bytes.h"
#include "base/utf8.h"
#include "cleave/error.h"
#include "features/arrow/column_pool.h"

namespace cleave {
namespace {

// Takes the object out of the struct, and marks the struct as released.
template <class Data, class Struct>
std::unique_ptr<Data> take(Struct* released) {
    std::unique_ptr<Data> data(static_cast<Data*>(released->private_data));
    released->release = nullptr;
    released->private_data = nullptr;
    return data;
}

// Structs, together with the table of pointers to them that their parent needs.
template <class Struct>
struct Children {
    explicit Children(std::size_t count) : structs(count), pointers(count) {
        for (std::size_t i = 0; i < count; ++i) pointers[i] = &structs[i];
    }
    Children(const Children&) = delete;
    Children& operator=(const Children&) = delete;
    ~Children() {
        for (Struct& child : structs) {
            if (child.release != nullptr) child.release(&child);
        }
    }

    std::vector<Struct> structs;  // released by default: all null
    std::vector<Struct*> pointers;
};

struct SchemaData {
    explicit SchemaData(std::size_t child_count) : children(child_count) {}

    std::string name;
    Children<ArrowSchema> children;
};

void release_schema(ArrowSchema* schema) { take<SchemaData>(schema); }

void fill_schema(ArrowSchema& schema, const char* format, std::int64_t flags, std::string name,
                 std::unique_ptr<SchemaData> data) {
    data->name = std::move(name);
    schema = {};
    schema.format = format;
    schema.name = data->name.c_str();
    schema.flags = flags;
    schema.n_children = static_cast<std::int64_t>(data->children.structs.size());
    schema.children = data->children.pointers.data();
    schema.release = release_schema;
    schema.private_data = data.release();
}

// A column's array: bitmap, offsets and bytes.
struct ColumnData {
    ColumnData(StringColumn&& made, std::shared_ptr<ColumnPool> from, std::size_t at)
        : column(std::move(made)), pool(std::move(from)), place(at) {}
    ColumnData(const ColumnData&) = delete;
    ColumnData& operator=(const ColumnData&) = delete;
    ~ColumnData() {
        if (pool) pool->put(place, std::move(column));
    }

    StringColumn column;
    std::shared_ptr<ColumnPool> pool;  // the pool to which the column is returned; may be null
    std::size_t place;                 // the column's position in the pool
    std::array<const void*, 3> buffers{};
};

void release_column(ArrowArray* array) { take<ColumnData>(array); }

void fill_column(ArrowArray& array, std::unique_ptr<ColumnData> data) {
    const StringColumn& column = data->column;
    const void* bitmap = column.null_count() > 0 ? column.validity().data() : nullptr;
    array = {};
    data->buffers = {bitmap, column.offsets().data(), column.bytes().data()};
    array.n_buffers = 3;
    array.length = static_cast<std::int64_t>(column.count());
    array.null_count = static_cast<std::int64_t>(column.null_count());
    array.buffers = data->buffers.data();
    array.release = release_column;
    array.private_data = data.release();
}

// The record batch. None of its rows is null, so it has no bitmap.
struct BatchData {
    explicit BatchData(std::size_t child_count) : children(child_count) {}

    Children<ArrowArray> children;
    std::array<const void*, 1> buffers{};
};

void release_batch(ArrowArray* array) { take<BatchData>(array); }

void check_name(const std::string& name) {
    if (name.find('\0') != std::string::npos || !is_utf8(bytes_of(name))) {
        throw ArgumentError("arrow: the name of a column is not UTF-8 or contains NUL");
    }
}

bool is_ascii(std::span<const std::uint8_t> bytes) {
    std::uint8_t all = 0;
    for (const std::uint8_t byte : bytes) all |= byte;
    return all < 0x80;
}

void check_text(const StringColumn& column, const RecordBlock& block, const ArrowColumn& wanted) {
    if (is_ascii(column.bytes())) return;
    for (std::size_t r = 0; r < column.count(); ++r) {
        if (is_utf8(bytes_of(column.value(r).value_or("")))) continue;
        throw InputError("field " + std::to_string(wanted.number + 1) + " is not UTF-8",
                         Place{block.place.offset + block.rows[r].begin, block.place.record + r});
    }
}

}  // namespace

void export_columns(const RecordBlock& block, const ColumnReader& reader, std::span<const ArrowColumn> columns,
                    ArrowSchema* schema, ArrowArray* array) {
    export_columns(block, reader, columns, nullptr, schema, array);
}

void export_columns(const RecordBlock& block, const ColumnReader& reader, std::span<const ArrowColumn> columns,
                    const std::shared_ptr<ColumnPool>& pool, ArrowSchema* schema, ArrowArray* array) {
    const std::shared_ptr<MemoryManager>& memory = reader.options().memory;
    for (const ArrowColumn& wanted : columns) check_name(wanted.name);
    auto schemas = std::make_unique<SchemaData>(columns.size());
    auto batch = std::make_unique<BatchData>(columns.size());
    for (std::size_t i = 0; i < columns.size(); ++i) {
        auto data = std::make_unique<ColumnData>(pool ? pool->take(i, memory) : StringColumn(memory), pool, i);
        reader.read(block, columns[i].number, data->column);
        if (columns[i].is_text) check_text(data->column, block, columns[i]);
        fill_column(batch->children.structs[i], std::move(data));
        fill_schema(schemas->children.structs[i], columns[i].is_text ? "u" : "z", ARROW_FLAG_NULLABLE, columns[i].name,
                    std::make_unique<SchemaData>(0));
    }
    fill_schema(*schema, "+s", 0, "", std::move(schemas));
    *array = {};
    array->length = static_cast<std::int64_t>(block.record_count());
    array->n_buffers = 1;
    array->n_children = static_cast<std::int64_t>(columns.size());
    array->buffers = batch->buffers.data();
    array->children = batch->children.pointers.data();
    array->release = release_batch;
    array->private_data = batch.release();
}

}  // namespace cleave
