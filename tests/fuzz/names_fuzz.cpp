// Templates: each is refused, or gives different names to different pieces.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "choices.h"
#include "cleave/names.h"

namespace cleave::test {
namespace {

// The pieces of a plan: start and record ascend.
std::vector<Piece> make_pieces(Choices& choices, std::optional<std::uint64_t> count) {
    std::vector<Piece> pieces;
    Piece piece;
    for (std::size_t left = 1 + choices.below(6); left > 0; --left) {
        if (count && piece.number > *count) break;
        pieces.push_back(piece);
        const std::uint64_t step = 1 + (choices.one_in(4) ? choices.below(65536) : 0);
        piece.number += 1 + (choices.one_in(2) ? step : 0);
        piece.first_record += step;
        piece.start += step * (1 + choices.below(20));
    }
    return pieces;
}

bool names_sort(const std::string& name_template) {
    return name_template.find("{start") == std::string::npos && name_template.find("{record") == std::string::npos;
}

void expect_names(const PieceNamer& namer, const std::string& name_template, const std::vector<Piece>& pieces) {
    std::vector<std::string> names;
    names.reserve(pieces.size());
    for (const Piece& piece : pieces) names.push_back(namer.name(piece));
    if (names_sort(name_template)) {
        EXPECT_TRUE(std::ranges::is_sorted(names));
    }
    std::ranges::sort(names);
    EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
    EXPECT_EQ(namer.name(pieces.front()), namer.name(pieces.front()));
}

void fuzz(Choices choices) {
    std::optional<std::uint64_t> count;
    if (choices.one_in(2)) count = choices.one_in(2) ? choices.number() : choices.below(2000);
    const std::uint64_t first_index = choices.one_in(4) ? choices.number() % 1'000'000'000'000'000'001 : choices.byte();
    const std::vector<Piece> pieces = make_pieces(choices, count);
    const std::string path = choices.text(choices.below(40));
    const std::string name_template = choices.text(100);
    try {
        const PieceNamer namer(name_template, path, first_index, count);
        if (!pieces.empty()) expect_names(namer, name_template, pieces);
    } catch (const std::invalid_argument&) {
        return;
    } catch (const IndexWidthError&) {
        EXPECT_FALSE(count);
    }
}

}  // namespace
}  // namespace cleave::test

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    cleave::test::fuzz(cleave::test::Choices({data, size}));
    return 0;
}
