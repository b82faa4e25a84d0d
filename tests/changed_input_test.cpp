// Inputs that others change while they are read, or that cannot be read any more.
#include <gtest/gtest.h>

#include <algorithm>

#include "cleave/error.h"
#include "cleave/plan.h"
#include "cleave/scan.h"

namespace cleave::test {
namespace {

std::string rows(std::size_t size) {
    std::string text;
    while (text.size() < size) text += "1,\"two\",3\n";
    text.resize(size - 1);
    return text + "\n";
}

// The bytes under an index become others: whatever comes out, it comes to an end and stays inside.
TEST(ChangedBytesTest, LocatingAndPlanningComeToAnEnd) {
    const std::string texts[] = {std::string(40'000, '\0'), std::string(40'000, '\n'), std::string(40'000, '"'),
                                 rows(40'000), rows(40'000).replace(9'000, 21'000, 21'000, '\n')};
    for (const std::string& before : texts) {
        for (const std::string& after : texts) {
            for (const std::size_t block_size : {std::size_t{1000}, std::size_t{4096}, std::size_t{1} << 20}) {
                std::vector<std::uint8_t> bytes(before.begin(), before.end());
                const RecordIndex index(bytes, Dialect{}, Machine{nullptr, 1, block_size});
                std::ranges::copy(after, bytes.begin());
                for (const std::uint64_t number : {1U, 7U, 1000U}) {
                    Policy policies[3];
                    policies[0].records = number;
                    policies[1].size = number * 10;
                    policies[2].pieces = number;
                    for (Policy policy : policies) {
                        for (const std::uint64_t alignment : {0U, 512U}) {
                            policy.alignment = policy.records ? 0 : alignment;
                            try {
                                plan_pieces(index, policy, [&](const Piece& piece) {
                                    ASSERT_LE(piece.start + piece.length, bytes.size());
                                });
                            } catch (const InputChangedError&) {
                                EXPECT_NE(before, after);
                            }
                        }
                    }
                }
            }
        }
    }
}

}  // namespace
}  // namespace cleave::test
