// StageWorker, by hand. The command is compared with an oracle in stages/, and the worker with a reference in fuzz/.
#include "cleave/stage.h"

#include <gtest/gtest.h>

#include "inputs.h"

namespace cleave::test {
namespace {

std::string_view text_of(std::span<const std::uint8_t> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Writes the text without a header, and expects that measure() tells the sizes.
std::string changed(std::string_view text, const Dialect& dialect, const std::string& rule) {
    StageOptions options;
    options.rules.push_back({rule, "--redact"});
    const Stage stage(options, dialect, bytes_of(text), false);
    StageWorker worker(stage, default_kernel());
    const RecordBlock block = worker.read(bytes_of(text), {}, true);
    std::vector<std::uint64_t> sizes(block.record_count());
    worker.measure(block, sizes);
    worker.write(block);
    std::uint64_t sum = 0;
    for (const std::uint64_t size : sizes) sum += size;
    EXPECT_EQ(sum, worker.written().size());
    return std::string(text_of(worker.written()));
}

// Such an escape is a plain byte outside quotes, so only quoted fields need it twice.
TEST(Stage, EscapesADigitInQuotesWhereItIsAnEscapeThereOnly) {
    Dialect dialect;
    dialect.escape = '0';
    dialect.escape_scope = EscapeScope::kQuoted;
    EXPECT_EQ(changed("\"20024-005-17\",2024-05-17\n", dialect, "*: date(month)"), "\"20024-005\",2024-05\n");
    EXPECT_EQ(changed("\"100\",10\n", dialect, "*: bucket(10)"), "\"100\",10\n");
    EXPECT_EQ(changed("\"a\",a\n", dialect, "*: fixed(10)"), "\"100\",10\n");
}

}  // namespace
}  // namespace cleave::test
