// Tests the parser of parse_kernel.h against field_reference.h: every dialect that a device can read, pages of every
// kind, tiles in every order.
#include "cuda/parse.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "cuda/managers.h"
#include "cuda/parse_look_back.h"
#include "cuda/tests/emulation.h"
#include "field_reference.h"
#include "inputs.h"

namespace cleave::cuda {
namespace {

constexpr std::size_t kTile = kTileSize;

struct Fields {
    std::vector<std::uint32_t> ends;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> rows;

    bool operator==(const Fields&) const = default;
};

std::optional<Fields> expected(const std::string& text, const Dialect& dialect) {
    const test::FieldReading reading = test::read_fields(text, dialect);
    if (reading.fault) return std::nullopt;
    Fields fields;
    for (const test::ReferenceRecord& record : reading.records) {
        fields.rows.emplace_back(record.begin, fields.ends.size());
        fields.ends.insert(fields.ends.end(), record.ends.begin(), record.ends.end());
    }
    fields.rows.emplace_back(text.size(), fields.ends.size());
    return fields;
}

// Each warp is a tile. Tile 0 publishes last, so all others look back over tiles whose end is not known.
__global__ void look_back_kernel(std::uint64_t* states, const TileFunction* tiles, TileStart* starts) {
    const std::uint32_t tile = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (tile == 0) {
        for (int i = 0; i < 600; ++i) load_relaxed(states);
    }
    if (threadIdx.x % 32 == 0) publish(states, tile, tiles[tile]);
    const TileStart start = look_back(states, tile, tiles[tile]);
    if (threadIdx.x % 32 == 0) starts[tile] = start;
}

class ParseTest : public testing::Test {
protected:
    std::optional<Fields> parsed(const std::string& text, const Dialect& dialect, ParseGuess& guess) {
        const auto markup = parse_markup(dialect);
        Memory page = device_.allocate((text.size() + 63) / 64 * 64);
        check(cudaMemcpyAsync(page.data(), text.data(), text.size(), cudaMemcpyHostToDevice, device_.stream()), "copy");
        const std::optional<DeviceFields> found = parse(device_, *markup, page.data(), text.size(), guess);
        if (!found) return std::nullopt;
        Fields fields;
        fields.ends.resize(found->end_count);
        std::vector<FieldRow> rows(found->row_count);
        if (!fields.ends.empty()) {
            check(cudaMemcpyAsync(fields.ends.data(), found->end_data(), fields.ends.size() * 4, cudaMemcpyDeviceToHost,
                                  device_.stream()),
                  "copy");
        }
        check(cudaMemcpyAsync(rows.data(), found->row_data(), rows.size() * sizeof(FieldRow), cudaMemcpyDeviceToHost,
                              device_.stream()),
              "copy");
        device_.wait();
        for (const FieldRow& row : rows) fields.rows.emplace_back(row.begin, row.first);
        return fields;
    }

    void compare(const std::string& text, const Dialect& dialect, ParseGuess guess = {}) {
        const auto wanted = expected(text, dialect);
        odd_ += wanted ? 0 : 1;
        even_ += wanted ? 1 : 0;
        ASSERT_EQ(parsed(text, dialect, guess), wanted) << test::describe(dialect) << "\n" << test::shown(text);
    }

    Device device_{open_manager("cuda")};
    int odd_ = 0;
    int even_ = 0;
};

std::vector<Dialect> readable_dialects() {
    std::vector<Dialect> result;
    for (const Dialect& dialect : test::every_dialect()) {
        if (parse_markup(dialect)) result.push_back(dialect);
    }
    return result;
}

TEST_F(ParseTest, ShortTexts) {
    test::Random random(1);
    for (const Dialect& dialect : readable_dialects()) {
        for (unsigned round = 0; round < test::rounds(200); ++round) {
            set_seed(round);
            compare(test::random_text(random, dialect, random.below(200)), dialect);
            if (HasFatalFailure()) return;
            compare(test::random_csv(random, dialect, random.below(400), 0), dialect);
            if (HasFatalFailure()) return;
        }
    }
    EXPECT_GT(odd_, static_cast<int>(test::rounds(400)));
    EXPECT_GT(even_, static_cast<int>(test::rounds(400)));
}

TEST_F(ParseTest, SeveralTiles) {
    test::Random random(2);
    for (const Dialect& dialect : readable_dialects()) {
        for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
            set_seed(seed);
            const std::size_t size = 5 * kTile + random.below(2 * kTile);
            compare(test::random_csv(random, dialect, size, 0), dialect);
            if (HasFatalFailure()) return;
        }
    }
    EXPECT_GT(even_, static_cast<int>(2 * kSeeds));
}

// Only the tiles before a tile can tell whether it begins inside quotes.
TEST_F(ParseTest, QuotesOverManyTiles) {
    Dialect dialect;
    std::string text = "a,\"";
    for (int i = 0; i < 40; ++i) text += std::string(kTileSize / 2 - 7, ',') + "\n\"\"";
    text += "\"\nb,c\n";
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
        set_seed(seed);
        compare(text, dialect);
    }
    EXPECT_GT(even_, 0);
}

// Most tiles end in the opposite state, so the functions of waiting tiles must be composed in order.
TEST_F(ParseTest, TilesThatFlip) {
    test::Random random(3);
    for (std::uint64_t seed = 0; seed < 2 * kSeeds; ++seed) {
        set_seed(seed);
        std::string text;
        while (text.size() < 40 * kTile) {
            text += '"';
            for (std::size_t left = random.below(2 * kTile); left > 0; --left) text += random.one_of(",\nxxxxxx");
            text += "\",";
            for (std::size_t left = random.below(kTileSize); left > 0; --left) text += random.one_of(",\nxxx");
            text += '\n';
        }
        compare(text, {});
        if (HasFatalFailure()) return;
    }
}

TEST_F(ParseTest, LooksBackOverManyTiles) {
    constexpr std::uint32_t kTiles = 32;
    constexpr std::uint32_t kGroups = 3;
    if (!kIsEmulated) GTEST_SKIP() << "arrays in memory of the host";
    set_all_at_once(true);
    constexpr std::uint32_t kAll = kTiles * kGroups;
    test::Random random(4);
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
        set_seed(seed);
        std::vector<TileFunction> tiles;
        std::vector<TileStart> expected(1, TileStart{false, 0});
        for (std::uint32_t i = 0; i < kAll; ++i) {
            tiles.push_back({random.chance(50),
                             {counts_of(random.below(16385), random.below(16385)),
                              counts_of(random.below(16385), random.below(16385))}});
            const TileStart& start = expected.back();
            const std::uint64_t counts = start.counts + tiles.back().counts[start.inside ? 1 : 0];
            expected.push_back({start.inside != tiles.back().flips, counts});
        }
        std::vector<std::uint64_t> states(kAll);
        std::vector<TileStart> starts(kAll);
        device_.launch(look_back_kernel, kGroups, 32 * kTiles, 0, states.data(), tiles.data(), starts.data());
        device_.wait();
        for (std::uint32_t i = 0; i < kAll; ++i) {
            EXPECT_EQ(starts[i].inside, expected[i].inside) << i;
            EXPECT_EQ(starts[i].counts, expected[i].counts) << i;
        }
    }
    set_all_at_once(false);
}

// Line ends, quotes and delimiters at the edges of steps and tiles.
TEST_F(ParseTest, EveryByteAtTheEdgeOfATile) {
    for (const Dialect& dialect : readable_dialects()) {
        const std::string alphabet = test::alphabet_of(dialect);
        for (const char left : alphabet) {
            for (const char right : alphabet) {
                std::string text(kTileSize + 32, 'x');
                text[kTileSize - 1] = left;
                text[kTileSize] = right;
                compare(text, dialect);
                if (HasFatalFailure()) return;
            }
        }
    }
    EXPECT_GT(odd_, 10);
    EXPECT_GT(even_, static_cast<int>(2 * kSeeds));
}

TEST_F(ParseTest, MoreFieldsThanGuessed) {
    Dialect dialect;
    for (const std::string& text : {std::string(40000, ','), std::string(40000, '\n'), std::string(20000, 'x')}) {
        compare(text, dialect, {0, 0});
    }
    ParseGuess guess{0, 0};
    parsed(std::string(1000, ','), dialect, guess);
    EXPECT_EQ(guess.ends_per_byte, 1001.0 / 1000);
}

TEST_F(ParseTest, RefusesEscapesAndLargePages) {
    Dialect dialect;
    dialect.escape = '\\';
    EXPECT_FALSE(parse_markup(dialect));
    dialect.escape_scope = EscapeScope::kQuoted;
    EXPECT_FALSE(parse_markup(dialect));
    ParseGuess guess;
    EXPECT_THROW(parse(device_, *parse_markup({}), nullptr, std::uint64_t{1} << 30, guess), std::invalid_argument);
}

TEST_F(ParseTest, EmptyPage) {
    compare("", {});
    EXPECT_EQ(even_, 1);
}

}  // namespace
}  // namespace cleave::cuda
