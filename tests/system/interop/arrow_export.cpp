// A shared library for arrow_test.py: hands the columns of a text to Python by the Arrow C data interface.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "cleave/arrow.h"
#include "cleave/kernel.h"

namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): Python asks for it between calls
std::atomic<int> blocks_kept = 0;

struct Block {
    explicit Block(std::span<const std::uint8_t> of) : bytes(of.begin(), of.end()) { ++blocks_kept; }
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;
    ~Block() { --blocks_kept; }

    std::vector<std::uint8_t> bytes;
};

void export_text(std::span<const std::uint8_t> text, const cleave::Dialect& dialect, std::size_t columns,
                 cleave::StringLayout layout, bool is_text, ArrowSchema* schema, ArrowArray* array) {
    const auto kept = std::make_shared<const Block>(text);
    cleave::FieldReader reader(dialect, cleave::default_kernel(), cleave::Reading::kByDialect, 0);
    const cleave::RecordBlock block = reader.read(kept->bytes, {}, true);
    const cleave::ColumnReader column_reader(dialect, columns == 1 ? 1 : 0, {layout, false, true});
    std::vector<cleave::ArrowColumn> wanted;
    wanted.reserve(columns);
    for (std::size_t i = 0; i < columns; ++i) wanted.push_back({i, "c" + std::to_string(i), is_text});
    cleave::export_columns(block, column_reader, wanted, kept, schema, array);
}

}  // namespace

extern "C" {

// Returns 0, or 1 with a message in `error`, which has room for 100 bytes.
[[gnu::visibility("default")]] int export_arrow(const std::uint8_t* text, std::size_t size, char delimiter,
                                                std::size_t columns, int views, int is_text, ArrowSchema* schema,
                                                ArrowArray* array, char* error) {
    try {
        cleave::Dialect dialect = cleave::dialect_preset("python")->dialect;
        dialect.delimiter = static_cast<std::uint8_t>(delimiter);
        export_text({text, size}, dialect, columns,
                    views != 0 ? cleave::StringLayout::kViews : cleave::StringLayout::kOffsets, is_text != 0, schema,
                    array);
    } catch (const std::exception& thrown) {
        const std::string what = thrown.what();
        std::memcpy(error, what.c_str(), std::min<std::size_t>(what.size(), 99) + 1);
        error[99] = '\0';
        return 1;
    }
    return 0;
}

// How many texts are kept for arrays that were not released.
[[gnu::visibility("default")]] int count_blocks() { return blocks_kept; }
}
