// The SHA-256 of inputs, however they arrive, and of inputs that change meanwhile.
#include "features/redact/run/input_hash.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "changed_input.h"
#include "cleave/error.h"
#include "packed.h"
#include "pipe_input.h"

namespace cleave::test::input_hash_test {

class InputHashTest : public ChangedInputTest {
protected:
    // Of what an Input should hash. The values of FIPS 180-4 are below.
    static ContentDigest digest_of(const std::string& text) {
        ContentHash hash;
        hash.add({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
        return hash.digest();
    }

    static void read_all(Input& input) {
        if (!input.is_stream()) return;
        while (!input.read().empty()) continue;
    }

    static ContentDigest digest_of_input(const std::string& path, Encoding encoding = Encoding::kBytes) {
        Input input = Input::open(path, nullptr, Access::kRead, encoding);
        InputHash hash(input);
        input.peek(10);
        read_all(input);
        return hash.finish();
    }

    // In UTF-16.
    static std::string_view wide() { return {"a\0\n\0", 4}; }
};

TEST_F(InputHashTest, TheDigestIsThatOfTheStandard) {
    EXPECT_EQ(digest_of(""), (ContentDigest{0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}));
    EXPECT_EQ(digest_of("abc"), (ContentDigest{3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}));
    EXPECT_EQ(digest_of(std::string(1'000'000, 'a')),
              (ContentDigest{1'000'000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"}));
}

TEST_F(InputHashTest, FilesAreHashedAsTheyAre) {
    // Sizes around the parts that the thread reads.
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, (std::size_t{1} << 20) - 1, std::size_t{1} << 20,
                                   (std::size_t{1} << 20) + 1, std::size_t{3'000'000}}) {
        const std::string text = std::string(size, 'x');
        EXPECT_EQ(digest_of_input(write(text)), digest_of(text)) << size;
    }
    const std::string packed = gzipped(rows(kSize));
    EXPECT_EQ(digest_of_input(write(packed)), digest_of(packed));
    EXPECT_EQ(digest_of_input(write(std::string(wide())), Encoding::kUtf16Le), digest_of(std::string(wide())));
}

TEST_F(InputHashTest, StreamsAreHashedAsTheyArrive) {
    for (const std::string& text : {std::string(), rows(20'000), gzipped(rows(20'000))}) {
        const Pipe pipe(text, {1, 2, 700});
        EXPECT_EQ(digest_of_input(pipe.path()), digest_of(text));
    }
    // A file that does not report its size.
    EXPECT_GT(digest_of_input("/proc/self/limits").size, 0U);
}

TEST_F(InputHashTest, SpoolingChangesNothing) {
    const std::string packed = gzipped(rows(kSize));
    const Pipe pipe(packed, {4096});
    for (const std::string& path : {write(packed), pipe.path()}) {
        Input input = Input::open(path);
        InputHash hash(input);
        input.spool();
        EXPECT_EQ(hash.finish(), digest_of(packed)) << path;
    }
}

TEST_F(InputHashTest, AFileIsHashedFromWhereReadingBegins) {
    const std::string path = write("skipped, the rest");
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    ASSERT_EQ(::lseek(descriptor, 9, SEEK_SET), 9);
    Input input = Input::of_descriptor(descriptor, path);
    EXPECT_EQ(InputHash(input).finish(), digest_of("the rest"));
}

TEST_F(InputHashTest, AChangeIsNoticedAfterTheFileWasSpooled) {
    for (const bool spools : {false, true}) {
        const std::string path = write(gzipped(rows(kSize)));
        Input input = Input::open(path);
        InputHash hash(input);
        if (spools) input.spool();
        overwrite(path, 20, "x");
        expect_throw<InputChangedError>(kChanged, [&] { hash.finish(); });
    }
}

TEST_F(InputHashTest, AFileThatShrinksOrGrowsIsNoticed) {
    const std::string path = write();
    Input grown = Input::open(path);
    InputHash hash(grown);
    std::filesystem::resize_file(path, kSize + 1);
    expect_throw<InputChangedError>(kGrew, [&] { hash.finish(); });
    Input shrunk = Input::open(path);
    InputHash other(shrunk);
    std::filesystem::resize_file(path, kSize - 1);
    expect_throw<InputChangedError>(kTruncated, [&] { other.finish(); });
}

TEST_F(InputHashTest, ACancelledHashEnds) {
    const Cancellation cancellation;
    Input input = Input::open(write(), &cancellation);
    InputHash unfinished(input);  // ends with its object
    Cancellation requested;
    requested.request();
    Input other = Input::open(write(), &requested);
    InputHash hash(other);
    EXPECT_THROW(hash.finish(), Cancelled);
}

}  // namespace cleave::test::input_hash_test
