// Input and scan(): text from a pipe is read the same way as text in a file.
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "cleave/error.h"
#include "cleave/scan.h"
#include "core/scan/stream_starts.h"
#include "inputs.h"
#include "kernels_under_test.h"
#include "mapped_input.h"
#include "pipe_input.h"
#include "reference.h"
#include "temporary_directory.h"

namespace cleave::test::stream_test {

std::vector<std::size_t> random_sizes(Random& random) {
    std::vector<std::size_t> sizes(500);
    const std::size_t largest = random.chance(50) ? 4096 : 100;
    for (std::size_t& size : sizes) size = 1 + random.below(largest);
    sizes.push_back(4096);
    return sizes;
}

std::string all_of(Input& input) {
    std::string text;
    for (auto bytes = input.read(); !bytes.empty(); bytes = input.read()) text.append(bytes.begin(), bytes.end());
    return text;
}

TEST(Scan, OfAStreamIsThatOfItsBytes) {
    for (std::uint64_t seed = 0; seed < rounds(8); ++seed) {
        Random random(seed);
        for (const Dialect& unled : every_dialect_and_rule()) {
            const Dialect dialect = led_at_random(unled, random);
            // peek() gathers the first part; the parts after it are cut anywhere.
            std::string text = random_csv(random, dialect, kSniffSize - 10, 0) + random_text(random, dialect, 3000);
            if (random.chance(20)) text = "\xEF\xBB\xBF" + text;
            SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << describe(dialect));
            Pipe pipe(text, random_sizes(random));
            Input input = open_mapped(pipe.path());
            const Findings findings = scan(input, dialect, Execution{});
            const Reading reading = read_by_rules(text, dialect);
            EXPECT_EQ(findings.size, text.size());
            EXPECT_EQ(findings.records, reading.starts.size());
            EXPECT_EQ(findings.header_records, header_records(text, dialect));
            EXPECT_EQ(findings.open_quote, reading.open_quote());
            const RecordIndex index(bytes_of(text), dialect, Execution{});
            EXPECT_EQ(findings.divergence, index.findings().divergence);
        }
    }
}

// What an index needs of a stream, for short texts and for those longer than the part that is peeked at.
TEST(Scan, OfAStreamFindsTheBoundariesAfterEachStep) {
    constexpr std::array<std::uint64_t, 6> kSteps = {1, 2, 7, 64, 1000, 70'000};
    for (std::uint64_t seed = 0; seed < rounds(12); ++seed) {
        Random random(seed);
        for (const Dialect& unled : every_dialect_and_rule()) {
            const Dialect dialect = led_at_random(unled, random);
            std::string text = random_text(random, dialect, random.below(400));
            if (random.chance(20)) text = random_csv(random, dialect, kSniffSize + random.below(2) - 1, 0) + text;
            if (random.chance(20)) text = std::string(random.below(8), random.one_of("\n\r")) + text;
            if (random.chance(20)) text = "\xEF\xBB\xBF" + text;
            const std::uint64_t step = kSteps.at(random.below(kSteps.size()));
            SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << describe(dialect) << ", step " << step);
            Pipe pipe(text, random_sizes(random));
            Input input = open_mapped(pipe.path());
            StreamStarts starts(step);
            const Findings findings = scan_stream(input, dialect, Execution{}, &starts);
            const Reading reading = read_by_rules(text, dialect);
            EXPECT_EQ(findings.header_records, header_records(text, dialect));
            EXPECT_EQ(starts.header_size(), reading.start_of(findings.header_records).offset);
            ASSERT_EQ(starts.boundaries().size(), (text.size() + step - 1) / step);
            for (std::size_t i = 0; i < starts.boundaries().size(); ++i)
                ASSERT_EQ(starts.boundaries()[i], reading.at_or_after(i * step)) << i;
        }
    }
}

// The second of two quotes opens nothing, wherever the stream is divided between them, and whether or not the quote
// modes have diverged by then.
TEST(Scan, NamesTheQuoteThatOpenedInAStream) {
    Dialect dialect;
    dialect.quoting = Quoting::kAnywhere;
    for (const std::string before : {"a", "a\"\n\",b\n", "a\"\n"}) {
        for (const std::size_t quotes : {1U, 2U, 3U, 4U, 5U}) {
            for (const std::string_view after : {"", "b", "\n", "b\"\n\"", "b\"\"\"\n"}) {
                // The first kSniffSize bytes are examined together.
                const std::size_t first = kSniffSize - quotes / 2;
                std::string text = before + std::string(first - before.size(), 'a');
                text += std::string(quotes, '"') + std::string(after);
                SCOPED_TRACE(shown(before) + ", " + std::to_string(quotes) + " quotes, " + shown(after));
                Pipe pipe(text, {4096});
                Input input = open_mapped(pipe.path());
                const Reading reading = read_by_rules(text, dialect);
                EXPECT_EQ(scan(input, dialect, Execution{}).open_quote, reading.open_quote());
                EXPECT_EQ(RecordIndex(bytes_of(text), dialect, Execution{}).findings().open_quote,
                          reading.open_quote());
            }
        }
    }
}

TEST(Scan, OfAMappedFile) {
    const TemporaryDirectory directory;
    const std::string path = directory.write("in.csv", "a,b\n\"x\ny\",z\n");
    Input input = open_mapped(path);
    ASSERT_TRUE(input.is_mapped());
    EXPECT_EQ(scan(input, Dialect{}, Execution{}).records, 2U);
}

TEST(Input, PeeksWithoutTaking) {
    Random random(1);
    const std::string text = random_noise(random, "abc\n", 100000);
    Pipe pipe(text, random_sizes(random));
    Input input = open_mapped(pipe.path());
    ASSERT_FALSE(input.is_mapped());
    const auto head = input.peek(1000);
    EXPECT_EQ(std::string(head.begin(), head.end()), text.substr(0, 1000));
    const auto more = input.peek(kSniffSize);
    EXPECT_EQ(std::string(more.begin(), more.end()), text.substr(0, kSniffSize));
    EXPECT_EQ(all_of(input), text);
}

TEST(Input, ASmallerPeekLosesNothingOfALargerOne) {
    Random random(3);
    const std::string text = random_noise(random, "abc\n", 300000);
    Pipe pipe(text, {4096});
    Input input = open_mapped(pipe.path());
    for (const std::size_t size : {2 * kSniffSize, std::size_t{10}, std::size_t{0}, 2 * kSniffSize}) {
        const auto head = input.peek(size);
        EXPECT_TRUE(std::string(head.begin(), head.end()) == text.substr(0, size)) << "peek(" << size << ")";
    }
    EXPECT_TRUE(all_of(input) == text);
}

TEST(Input, PeeksOfAFileOnce) {
    const TemporaryDirectory directory;
    const std::string path = directory.write("in.csv", "a,b\n1,2\n");
    for (const Access access : {Access::kRead, Access::kMapped}) {
        directory.write("in.csv", "a,b\n1,2\n");
        Input input = Input::open(path, nullptr, access);
        (void)input.peek(kSniffSize);
        directory.write("in.csv", "c;d\n3;4\n");  // what was inferred from these bytes must fit those that come next
        const auto head = input.peek(3);
        EXPECT_EQ(std::string(head.begin(), head.end()), "a,b");
        EXPECT_THROW(input.throw_if_changed(), InputChangedError);
    }
}

TEST(Input, PeeksAtShortStreams) {
    Pipe pipe("ab", {1});
    Input input = open_mapped(pipe.path());
    EXPECT_EQ(input.peek(kSniffSize).size(), 2U);
    EXPECT_EQ(all_of(input), "ab");
}

TEST(Input, SpoolsWhatWasPeekedAtAndTheRest) {
    Random random(2);
    for (const std::size_t size : {0U, 1U, 70000U, 3000000U}) {
        const std::string text = random_noise(random, "abc\n", size);
        Pipe pipe(text, {7, 4096});
        const MappingGuard guard;
        Input input = open_mapped(pipe.path());
        (void)input.peek(100);
        input.spool();
        ASSERT_TRUE(input.is_mapped());
        const auto bytes = input.bytes();
        EXPECT_EQ(std::string(bytes.begin(), bytes.end()), text);
    }
}

TEST(Input, FilesThatPretendToBeEmptyAreStreams) {
    Input input = Input::open("/proc/self/status");
    ASSERT_FALSE(input.is_mapped());
    EXPECT_NE(all_of(input).find("VmSize"), std::string::npos);
}

TEST(Input, SaysWhichFileIsMissing) {
    const TemporaryDirectory directory;
    try {
        Input::open(directory.path("missing.csv"));
        FAIL() << "opened a file that is not there";
    } catch (const std::system_error& error) {
        EXPECT_EQ(error.code(), std::errc::no_such_file_or_directory);
        EXPECT_NE(std::string(error.what()).find("missing.csv"), std::string::npos);
    }
    EXPECT_THROW(Input::open(directory.path(".")), std::system_error);
}

TEST(Input, WaitingEndsWhenCancelled) {
    const SilentPipe pipe;
    Cancellation cancellation;
    Input input = open_mapped(pipe.path(), &cancellation);
    const auto self = static_cast<pid_t>(::syscall(SYS_gettid));  // gettid() needs glibc 2.30
    std::jthread canceller([&] {
        while (!is_asleep(self)) std::this_thread::yield();
        cancellation.request();
    });
    EXPECT_THROW(input.read(), Cancelled);
    EXPECT_THROW(input.peek(10), Cancelled);
}

}  // namespace cleave::test::stream_test
