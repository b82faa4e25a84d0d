// GuessedBatches: they cover the range, and in texts of the usual kinds each begins with a record. BatchLoop: whatever
// the text, the dialect, the number of threads and the access, consumers get the records in order, and the first fault.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cleave/input.h"
#include "inputs.h"
#include "pipe_input.h"
#include "reference.h"
#include "rows/records/batch_loop.h"
#include "temporary_directory.h"

namespace cleave::test::batches_test {

struct Part {
    std::uint64_t begin;
    std::string bytes;
};

// The batches that are guessed for a text.
std::vector<Part> guessed_parts(Input& input, std::uint64_t size, const Dialect& dialect, BatchAccess access,
                                std::size_t batch_size) {
    GuessedBatches batches(input.blob(), {0, size}, dialect, access, {batch_size});
    Walker walker(dialect, default_kernel());
    OwnedBatch batch(MemoryManager::open("system"));
    std::vector<Part> parts;
    bool is_last = false;
    while (batches.next(batch)) {
        EXPECT_FALSE(batch.is_exact);
        batches.fill(batch, walker);
        EXPECT_TRUE(!is_last || batch.bytes.empty());
        is_last = batch.is_last;
        parts.push_back({batch.place.offset, std::string(batch.bytes.begin(), batch.bytes.end())});
    }
    EXPECT_TRUE(is_last || size == 0);
    return parts;
}

TEST(GuessedBatches, CoverTheRangeWhateverItHolds) {
    const TemporaryDirectory directory;
    for (std::uint64_t seed = 0; seed < rounds(20); ++seed) {
        Random random(seed);
        for (const Dialect& dialect : every_dialect_and_rule()) {
            const std::string text = random_text(random, dialect, random.below(2000));
            Input input = Input::open(directory.write("in.csv", text));
            const std::size_t size = 8 + random.below(200);
            for (const BatchAccess access : {BatchAccess::kMapping, BatchAccess::kFile}) {
                std::string joined;
                for (const auto& [begin, bytes] : guessed_parts(input, text.size(), dialect, access, size)) {
                    const bool is_in_pair = begin > 0 && text.substr(begin - 1, 2) == "\r\n";
                    // It would look as if a record ended before the batch and an empty record began there.
                    EXPECT_FALSE(is_in_pair && dialect.terminator == Terminator::kAny) << begin;
                    EXPECT_EQ(begin, joined.size());
                    joined += bytes;
                }
                EXPECT_EQ(joined, text);
                if (HasFailure()) FAIL() << "seed " << seed;
            }
        }
    }
}

// Guesses from parts of a file are the same as from a mapping of all of it, however much text the guess depends on.
TEST(GuessedBatches, AreTheSameOfAMappingAndOfAFile) {
    const TemporaryDirectory directory;
    const Dialect dialect;
    for (std::uint64_t seed = 0; seed < rounds(8); ++seed) {
        Random random(seed);
        std::string text;
        while (text.size() < 400'000) {
            text += random.chance(30) ? std::string(random.below(5000), '"') : random_csv(random, dialect, 3000, 0);
            if (random.chance(10)) text += std::string(random.below(40'000), 'x');
        }
        Input input = Input::open(directory.write("in.csv", text));
        const std::size_t size = 100 + random.below(16'000);  // at most as far as a file is searched for a start
        const auto of_mapping = guessed_parts(input, text.size(), dialect, BatchAccess::kMapping, size);
        const auto of_file = guessed_parts(input, text.size(), dialect, BatchAccess::kFile, size);
        ASSERT_EQ(of_mapping.size(), of_file.size());
        for (std::size_t i = 0; i < of_file.size(); ++i) ASSERT_EQ(of_mapping[i].begin, of_file[i].begin) << seed;
    }
}

// A wrong guess costs time, so guesses for the usual texts must be right wherever the batches begin.
TEST(GuessedBatches, BeginWithARecordInUsualTexts) {
    const std::pair<const char*, std::string> texts[] = {
        {"plain", "12,John Doe,some text\n"},
        {"CRLF", "12,John Doe,some text\r\n"},
        {"quoted", "\"12\",\"John Doe\",\"some text\"\n"},
        {"quoted where needed", "12,\"Doe, John\",some text\n7,John,\"some, text\"\n"},
        {"line feeds in quotes", "12,\"Doe,\nJohn\n\",\"a\nb\nc\"\n3,,\n"},
        {"empty ones", "\"\",,\"\"\n"},
        {"JSON in quotes", "12,\"{\"\"a\"\": \"\"b\"\", \"\"c\"\": [1, 2], \"\"d\"\": \"\"\"\"}\",x\n"},
        {"a whole speech", "12,\"\"\"No,\"\" he said.\n\"\"No.\"\"\",\"\"\"\"\"\"\n"},
    };
    const TemporaryDirectory directory;
    const Dialect dialect;
    for (const auto& [name, line] : texts) {
        std::string text;
        while (text.size() < 4000) text += line;
        const std::vector<std::uint64_t> starts = read_by_rules(text, dialect).starts;
        Input input = Input::open(directory.write("in.csv", text));
        for (std::size_t size = 200; size < 300; ++size) {
            for (const Part& part : guessed_parts(input, text.size(), dialect, BatchAccess::kMapping, size)) {
                const bool is_end = part.begin == text.size();
                ASSERT_TRUE(is_end || std::ranges::binary_search(starts, part.begin))
                    << name << ", " << part.begin << " by " << size;
            }
        }
    }
}

// What the loop has passed on in one run.
struct Passed {
    std::string bytes;
    std::vector<Place> places;  // of the batches
    std::uint64_t records = 0;
    std::optional<Place> fault;
};

// Finds the records of a batch, and keeps their bytes. A record that contains `bad` is a fault.
class Collector {
public:
    Collector(Passed& passed, const Dialect& dialect, std::string bad)
        : passed_(&passed), dialect_(dialect), bad_(std::move(bad)) {}

    void work(const Batch& batch) {
        bytes_.assign(batch.bytes.begin(), batch.bytes.end());
        const Reading reading = read_by_rules(bytes_, dialect_);
        if (!batch.is_exact) {
            const bool is_whole = read_by_rules(bytes_ + "x", dialect_).starts.back() == bytes_.size();
            if (reading.open_at_end || (!batch.is_last && !is_whole)) throw DoubtfulBatch();
        }
        records_ = reading.starts.size();
        for (std::size_t r = 0; !bad_.empty() && r < records_; ++r) {
            const std::uint64_t end = r + 1 < records_ ? reading.starts[r + 1] : bytes_.size();
            const std::uint64_t begin = reading.starts[r];
            if (bytes_.substr(begin, end - begin).find(bad_) == std::string::npos) continue;
            throw InputError("bad", Place{batch.place.offset + begin, batch.place.record + r});
        }
    }

    std::uint64_t emit(Place place) {
        passed_->places.push_back(place);
        passed_->bytes += bytes_;
        passed_->records += records_;
        return records_;
    }

private:
    Passed* passed_;
    Dialect dialect_;
    std::string bad_;
    std::string bytes_;
    std::uint64_t records_ = 0;
};

enum class Source : std::uint8_t { kMapping, kFile, kStream };

// Passes on the records of the text, a random number of batches at a time.
Passed pass_all(Source source, const std::string& text, const Dialect& dialect, const std::string& bad,
                Random& random) {
    const TemporaryDirectory directory;
    std::optional<Pipe> pipe;
    if (source == Source::kStream) pipe.emplace(text, std::vector<std::size_t>{1 + random.below(50)});
    Input input = Input::open(pipe ? pipe->path() : directory.write("in.csv", text));
    const BatchOptions options{1 + random.below(random.chance(50) ? 20 : 300), std::uint64_t{1} << 30};
    std::optional<BatchLoop> loop;
    if (source == Source::kStream) {
        loop.emplace(input, Place{}, dialect, default_kernel(), options);
    } else {
        const BatchAccess access = source == Source::kMapping ? BatchAccess::kMapping : BatchAccess::kFile;
        loop.emplace(input.blob(), BlobRange{0, text.size()}, 0, dialect, default_kernel(), access, options);
    }
    Passed passed;
    const auto make = [&] { return Collector(passed, dialect, bad); };
    try {
        while (!loop->is_done()) {
            const std::uint64_t most = random.chance(30) ? 1 + random.below(5) : BatchLoop::kAll;
            loop->run(static_cast<unsigned>(1 + random.below(4)), make, most);
        }
        loop->finish();
        EXPECT_EQ(loop->open_quote(), read_by_rules(text, dialect).open_quote());
    } catch (const InputError& error) {
        passed.fault = error.place();
    }
    EXPECT_EQ(loop->at().offset, passed.bytes.size());
    EXPECT_EQ(loop->at().record, passed.records);
    return passed;
}

TEST(BatchLoop, PassesOnAllRecordsInOrderUpToTheFirstFault) {
    unsigned faults = 0;
    for (std::uint64_t seed = 0; seed < rounds(16); ++seed) {
        Random random(seed);
        for (const Dialect& dialect : every_dialect_and_rule()) {
            const std::string text = random.chance(50) ? random_text(random, dialect, random.below(1500))
                                                       : random_csv(random, dialect, random.below(3000), 0);
            const std::string bad = random.chance(50) || text.empty() ? "" : text.substr(random.below(text.size()), 3);
            const Reading reading = read_by_rules(text, dialect);
            std::optional<Place> fault;
            for (std::size_t r = 0; !bad.empty() && !fault && r < reading.starts.size(); ++r) {
                const std::uint64_t begin = reading.starts[r];
                const std::uint64_t end = r + 1 < reading.starts.size() ? reading.starts[r + 1] : text.size();
                if (text.substr(begin, end - begin).find(bad) != std::string::npos) fault = Place{begin, r};
            }
            if (fault) ++faults;
            for (const Source source : {Source::kMapping, Source::kFile, Source::kStream}) {
                SCOPED_TRACE(testing::Message() << "seed " << seed << "; " << describe(dialect) << "; source "
                                                << static_cast<int>(source) << ": " << shown(text));
                const Passed passed = pass_all(source, text, dialect, bad, random);
                ASSERT_EQ(passed.fault, fault);
                ASSERT_EQ(passed.bytes, text.substr(0, passed.bytes.size()));
                if (fault) {
                    ASSERT_LE(passed.records, fault->record);
                } else {
                    ASSERT_EQ(passed.bytes.size(), text.size());
                    ASSERT_EQ(passed.records, reading.starts.size());
                }
            }
        }
    }
    EXPECT_GT(faults, rounds(16));
}

// An exception from the output ends the loop: nothing is passed on after it.
TEST(BatchLoop, EndsWhereItsOutputFails) {
    struct Failing {
        unsigned* emitted;
        void work(const Batch&) {}
        std::uint64_t emit(Place) const {
            if (++*emitted == 5) throw std::runtime_error("the disk is full");
            return 1;
        }
    };
    const TemporaryDirectory directory;
    std::string text;
    while (text.size() < 10'000) text += "1,2,3\n";
    Input input = Input::open(directory.write("in.csv", text));
    for (const unsigned threads : {1U, 4U}) {
        unsigned emitted = 0;
        BatchLoop loop(input.blob(), {0, text.size()}, 0, Dialect(), default_kernel(), BatchAccess::kMapping,
                       {100, 1000});
        EXPECT_THROW(loop.run(threads, [&] { return Failing{&emitted}; }), std::runtime_error);
        EXPECT_EQ(emitted, 5U);
        EXPECT_EQ(loop.at().record, 4U);
    }
}

}  // namespace cleave::test::batches_test
