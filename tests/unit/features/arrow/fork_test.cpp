// What a child process finds after fork(): only the calling thread continues in it.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "cleave/cancel.h"
#include "cleave/experimental/column_stream.h"
#include "forked.h"
#include "inputs.h"

namespace cleave::test::fork_test {

std::size_t count_records(ColumnStream& stream) {
    std::size_t records = 0;
    for (ArrowArray array; stream.next(&array); array.release(&array))
        records += static_cast<std::size_t>(array.length);
    return records;
}

class Fork : public testing::Test {
protected:
    static constexpr std::size_t kRecords = 5000;

    Fork() {
        for (std::size_t i = 0; i < kRecords; ++i) text_ += "1,2\n";
        options_.page_size = 100;
        Execution execution;
        execution.threads = 3;
        const auto input = std::make_shared<Input>(Input::of_memory(bytes_of(text_), "memory"));
        stream_.emplace(input, Dialect(), options_, execution);
    }

    std::string text_ = "a,b\n";
    ColumnStreamOptions options_;
    std::optional<ColumnStream> stream_;
};

TEST_F(Fork, OfABegunStreamIsRefusedAndDoesNotHang) {
    ArrowArray first;
    ASSERT_TRUE(stream_->next(&first));
    const auto before = static_cast<std::size_t>(first.length);
    first.release(&first);
    const auto use = [&] {
        ArrowArray array;
        try {
            stream_->next(&array);
            return 1;
        } catch (const std::logic_error&) {
            stream_.reset();  // joins no thread
            return 0;
        }
    };
    for (int round = 0; round < 20; ++round) ASSERT_EQ(exit_status_of(use), 0);
    EXPECT_EQ(before + count_records(*stream_), kRecords);
}

TEST_F(Fork, OfAStreamThatWasNotBegunIsAStream) {
    EXPECT_EQ(exit_status_of([&] { return count_records(*stream_) == kRecords ? 0 : 1; }), 0);
    EXPECT_EQ(count_records(*stream_), kRecords);
}

}  // namespace cleave::test::fork_test
