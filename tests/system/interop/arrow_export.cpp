// A shared library for arrow_test.py: passes the columns of a text to Python through the Arrow C data interface.
#include <algorithm>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "cleave/experimental/arrow.h"
#include "cleave/kernel.h"

namespace {

void export_text(std::span<const std::uint8_t> text, const cleave::Dialect& dialect, std::size_t columns, bool is_text,
                 ArrowSchema* schema, ArrowArray* array) {
    cleave::FieldReader reader(dialect, cleave::default_kernel(), cleave::Reading::kByDialect, 0);
    const cleave::RecordBlock block = reader.read(text, {}, true);
    const cleave::ColumnReader column_reader(dialect, columns == 1 ? 1 : 0, {false, true});
    std::vector<cleave::ArrowColumn> wanted;
    wanted.reserve(columns);
    for (std::size_t i = 0; i < columns; ++i) wanted.push_back({i, "c" + std::to_string(i), is_text});
    cleave::export_columns(block, column_reader, wanted, schema, array);
}

}  // namespace

extern "C" {

// Returns 0, or 1 with a message in `error`, which has room for 100 bytes.
[[gnu::visibility("default")]] int export_arrow(const std::uint8_t* text, std::size_t size, char delimiter,
                                                std::size_t columns, int is_text, ArrowSchema* schema,
                                                ArrowArray* array, char* error) {
    try {
        cleave::Dialect dialect = cleave::dialect_preset("python")->dialect;
        dialect.delimiter = static_cast<std::uint8_t>(delimiter);
        export_text({text, size}, dialect, columns, is_text != 0, schema, array);
    } catch (const std::exception& thrown) {
        const std::string what = thrown.what();
        std::memcpy(error, what.c_str(), std::min<std::size_t>(what.size(), 99) + 1);
        error[99] = '\0';
        return 1;
    }
    return 0;
}
}
