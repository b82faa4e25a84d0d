// Inputs that others change while they are read, or that cannot be read any more.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "cleave/error.h"
#include "cleave/examine.h"
#include "cleave/mapping_guard.h"
#include "cleave/plan_file.h"
#include "cleave/scan.h"
#include "cleave/split.h"
#include "inputs.h"
#include "io/fd.h"
#include "io/mapping.h"
#include "pipe_input.h"
#include "temporary_directory.h"

namespace cleave::test {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPage = 4096;
constexpr std::size_t kSize = 64 * kPage;
constexpr char kTruncated[] = "input truncated while reading";
constexpr char kChanged[] = "input changed while reading (touch looks the same)";
constexpr char kGrew[] = "input grew while reading";

std::string rows(std::size_t size) {
    std::string text;
    while (text.size() < size) text += "1,\"two\",3\n";
    text.resize(size - 1);
    return text + "\n";
}

// What the call throws says so.
template <class Error, class Call>
void expect_throw(const std::string& what, const Call& call) {
    try {
        call();
        ADD_FAILURE() << "nothing was thrown, but should have been: " << what;
    } catch (const Error& error) {
        EXPECT_STREQ(error.what(), what.c_str());
    }
}

void overwrite(const std::string& path, std::uint64_t offset, const std::string& text) {
    const Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    ASSERT_TRUE(file.is_open());
    ASSERT_EQ(::pwrite(file.get(), text.data(), text.size(), static_cast<off_t>(offset)),
              static_cast<ssize_t>(text.size()));
}

class ChangedInputTest : public testing::Test {
protected:
    std::string write(const std::string& text = rows(kSize)) const { return directory_.write("in.csv", text); }

    TemporaryDirectory directory_;
};

class FaultTest : public ChangedInputTest {
protected:
    MappingGuard guard_;
};

using FaultDeathTest = ChangedInputTest;

TEST_F(FaultTest, WhatATruncationTookIsZerosToTheEnd) {
    const std::string path = write();
    const Input input = Input::open(path);
    fs::resize_file(path, 10 * kPage + 1);
    const auto bytes = input.bytes();
    EXPECT_EQ(bytes[20 * kPage + 5], 0);
    EXPECT_TRUE(has_faulted(bytes));
    EXPECT_EQ(bytes[0], '1');
    fs::resize_file(path, 0);
    overwrite(path, 0, rows(kSize));
    // From the page of the first fault on it is not the file any more; before it, it is.
    EXPECT_TRUE(std::ranges::all_of(bytes.subspan(20 * kPage), [](std::uint8_t byte) { return byte == 0; }));
    EXPECT_NE(bytes[20 * kPage - 1], 0);
    expect_throw<InputChangedError>(kChanged, [&] { input.throw_if_changed(); });
}

TEST_F(FaultTest, ATruncatedInputIsAnErrorWhetherItIsReadOrNot) {
    const std::string path = write();
    const Input input = Input::open(path);
    EXPECT_TRUE(input.is_unchanged());
    EXPECT_NO_THROW(input.throw_if_changed());
    fs::resize_file(path, kSize - 1);
    EXPECT_FALSE(input.is_unchanged());
    expect_throw<InputChangedError>(kTruncated, [&] { input.throw_if_changed(); });
    fs::resize_file(path, 0);
    EXPECT_EQ(input.bytes()[kSize - 1], 0);
    expect_throw<InputChangedError>(kTruncated, [&] { input.throw_if_changed(); });
}

TEST_F(FaultTest, AFileThatFailsIsAnErrorOfTheMedium) {
    // Mapped behind its end, and never changed: so a page that cannot be read looks.
    const std::string path = write("h\n1\n");
    const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    std::optional<Mapping> mapping = Mapping::of(file.get(), 0, 2 * kPage);
    ASSERT_TRUE(mapping);
    EXPECT_FALSE(mapping->has_faulted());
    EXPECT_EQ(mapping->bytes()[kPage], 0);
    EXPECT_TRUE(mapping->has_faulted());
    const Mapping moved = std::move(*mapping);
    EXPECT_TRUE(moved.has_faulted());
}

TEST_F(FaultTest, ThreadsMayFaultAtOnce) {
    for (int round = 0; round < 20; ++round) {
        const std::string path = write();
        const Input input = Input::open(path);
        fs::resize_file(path, 0);
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < 4; ++i) {
            threads.emplace_back([&input, i] {
                for (std::size_t page = 64; page-- > 0;) EXPECT_EQ(input.bytes()[(page + 16 * i) % 64 * kPage], 0);
            });
        }
        threads.clear();
        expect_throw<InputChangedError>(kTruncated, [&] { input.throw_if_changed(); });
    }
}

TEST_F(FaultTest, OneMappingFaultsAndTheOthersDoNot) {
    const std::string path = write();
    const Input other = Input::open(directory_.write("other.csv", rows(kSize)));
    {
        const Input input = Input::open(path);
        fs::resize_file(path, 0);
        EXPECT_EQ(input.bytes()[0], 0);
        EXPECT_FALSE(has_faulted(other.bytes()));
    }
    const Input again = Input::open(write());
    EXPECT_FALSE(has_faulted(again.bytes()));
    EXPECT_TRUE(again.is_unchanged() && other.is_unchanged());
}

TEST_F(FaultTest, ErrnoIsKept) {
    const std::string path = write();
    const Input input = Input::open(path);
    fs::resize_file(path, 0);
    errno = EDOM;
    const int byte = input.bytes()[0];
    EXPECT_EQ(errno, EDOM);
    EXPECT_EQ(byte, 0);
}

TEST_F(FaultTest, AScanOfATruncatedInputIsAnError) {
    const std::string path = write(rows(kSize - 2) + "\"");  // with nothing gone, a quote is never closed
    for (const std::size_t size : {kSize - 1, kPage, std::size_t{0}}) {
        write(rows(kSize));
        Input input = Input::open(path);
        fs::resize_file(path, size);
        expect_throw<InputChangedError>(kTruncated, [&] { scan(input, Dialect{}, Machine{nullptr, 2, kPage}); });
    }
}

TEST_F(FaultTest, ASplitOfATruncatedInputLeavesNothing) {
    const std::string path = write();
    const TemporaryDirectory out;
    SplitOptions options;
    Policy policy;
    policy.pieces = 4;
    // Between plan and writing, and while the last piece is written: write() then cannot read the bytes for itself.
    for (const bool early : {true, false}) {
        write();
        const Input input = Input::open(path);
        const RecordIndex index(input.bytes(), Dialect{}, Machine{});
        std::vector<Piece> pieces;
        const auto header = plan_pieces(index, policy, [&](const Piece& piece) { pieces.push_back(piece); });
        options.finished = [&](const Piece& piece, const std::string&) {
            if (piece.number == 3) fs::resize_file(path, 0);
        };
        if (early) fs::resize_file(path, 0);
        const PieceNamer namer(out.path("{i}"), "in.csv", 1, pieces.size());
        expect_throw<InputChangedError>(kTruncated,
                                        [&] { split_mapped(input, pieces, policy.header, header, namer, options); });
        EXPECT_TRUE(out.files().empty());
    }
}

TEST_F(FaultDeathTest, WithoutAGuardItIsAsEver) {
    const std::string path = write();
    const Input input = Input::open(path);
    fs::resize_file(path, 0);
    EXPECT_DEATH(std::exit(input.bytes()[0]), "");
    { const MappingGuard guard; }
    EXPECT_DEATH(std::exit(input.bytes()[0]), "");
}

TEST_F(FaultDeathTest, FaultsElsewhereGoToWhatWasThereBefore) {
    const std::string path = write();
    const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    void* address = ::mmap(nullptr, kSize, PROT_READ, MAP_SHARED, file.get(), 0);
    ASSERT_NE(address, MAP_FAILED);
    const volatile char* foreign = static_cast<const char*>(address);
    fs::resize_file(path, 0);
    const auto fault = [&] {
        const MappingGuard guard;
        std::exit(*foreign);
    };
    EXPECT_DEATH(fault(), "");
    constexpr int kHandled = 42;
    const auto handle = [] { std::ignore = ::signal(SIGBUS, [](int) { ::_exit(kHandled); }); };
    EXPECT_EXIT((handle(), fault()), testing::ExitedWithCode(kHandled), "");
    const auto send = [] {
        const MappingGuard guard;
        ::kill(::getpid(), SIGBUS);
        std::exit(0);
    };
    EXPECT_EXIT((handle(), send()), testing::ExitedWithCode(kHandled), "");
    ::munmap(address, kSize);
}

TEST_F(ChangedInputTest, WhereTooManyAreMappedOthersAreStreams) {
    const std::string path = write();
    std::vector<Input> inputs;
    while (inputs.size() < Mapping::kMaxCount) inputs.push_back(Input::open(path));
    EXPECT_TRUE(inputs.back().is_mapped());
    Input stream = Input::open(path);
    EXPECT_FALSE(stream.is_mapped());
    EXPECT_EQ(scan(stream, Dialect{}, Machine{}).size, kSize);
    inputs.pop_back();
    EXPECT_TRUE(Input::open(path).is_mapped());

    // A stream of a file is as good as the file.
    inputs.push_back(Input::open(path));
    stream = Input::open(path);
    ASSERT_FALSE(stream.is_mapped());
    fs::resize_file(path, kSize - 1);
    expect_throw<InputChangedError>(kTruncated, [&] { scan(stream, Dialect{}, Machine{}); });
    stream = Input::open(path);
    overwrite(path, 0, "9");
    inputs.clear();
    expect_throw<InputChangedError>(kChanged, [&] { stream.spool(); });
}

TEST_F(ChangedInputTest, GrownOrRewritten) {
    const std::string path = write();
    {
        const Input input = Input::open(path);
        overwrite(path, kSize, "1");
        expect_throw<InputChangedError>(kGrew, [&] { input.throw_if_changed(); });
    }
    {
        const Input input = Input::open(path);
        overwrite(path, 0, "7");
        expect_throw<InputChangedError>(kChanged, [&] { input.throw_if_changed(); });
    }
    const Input input = Input::open(path);
    const auto time = fs::last_write_time(path);
    overwrite(path, 0, "8");
    fs::last_write_time(path, time);
    EXPECT_FALSE(input.is_unchanged());
    expect_throw<InputChangedError>(kChanged, [&] { input.throw_if_changed(); });
}

// As touch -a does.
void touch(const std::string& path) {
    const timespec times[] = {{1, 0}, {0, UTIME_OMIT}};
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

TEST_F(ChangedInputTest, ATouchIsAcceptedOnceAndAWriteIsNot) {
    const std::string path = write();
    const Input input = Input::open(path);
    EXPECT_FALSE(input.accept_touch());
    touch(path);
    EXPECT_FALSE(input.is_unchanged());
    EXPECT_TRUE(input.accept_touch());
    EXPECT_TRUE(input.is_unchanged());
    EXPECT_FALSE(input.accept_touch());
    overwrite(path, 0, "7");
    EXPECT_FALSE(input.accept_touch());
    expect_throw<InputChangedError>(kChanged, [&] { input.throw_if_changed(); });
}

TEST_F(ChangedInputTest, ATouchDoesNotUndoAScanOrAnExamination) {
    const std::string path = write();
    Input input = Input::open(path);
    touch(path);
    EXPECT_EQ(scan(input, Dialect{}, Machine{}).size, kSize);
    touch(path);
    EXPECT_EQ(examine(input, Dialect{}, Machine{}).findings.size, kSize);
}

TEST_F(ChangedInputTest, ATouchDoesNotUndoASplitButAWriteWithTheOldTimeDoes) {
    const std::string path = write();
    Policy policy;
    policy.pieces = 4;
    const auto split = [&](bool is_checkable, const auto& change) {
        TemporaryDirectory out;
        const Input input = Input::open(write());
        const RecordIndex index(input.bytes(), Dialect{}, Machine{});
        std::vector<Piece> pieces;
        const auto header = plan_pieces(index, policy, [&](const Piece& piece) { pieces.push_back(piece); });
        SplitOptions options;
        if (is_checkable) {
            options.is_same_plan = [&] {
                return RecordIndex(input.bytes(), Dialect{}, Machine{}).has_same_records(index);
            };
        }
        options.finished = [&](const Piece& piece, const std::string&) {
            if (piece.number == 3) change();
        };
        const PieceNamer namer(out.path("{i}"), "in.csv", 1, pieces.size());
        try {
            split_mapped(input, pieces, policy.header, header, namer, options);
        } catch (const InputChangedError&) {
        }
        return out.files().size();
    };
    const auto rewrite = [&](const std::string& text) {
        return [&path, text] {
            const auto time = fs::last_write_time(path);
            overwrite(path, 100, text);
            fs::last_write_time(path, time);
        };
    };
    EXPECT_EQ(split(true, [&] { touch(path); }), 4U);
    EXPECT_EQ(split(false, [&] { touch(path); }), 0U);
    EXPECT_EQ(split(true, rewrite("8")), 0U);   // the pieces have other bytes
    EXPECT_EQ(split(true, rewrite("\n")), 0U);  // and there are other records
}

TEST_F(ChangedInputTest, ASnapshotMayGrowButNotShrink) {
    const std::string path = write("h\n1\nha");
    Input input = Input::open_snapshot(path);
    EXPECT_TRUE(input.is_snapshot());
    overwrite(path, 6, "lf\n2\n");
    EXPECT_NO_THROW(input.throw_if_changed());
    EXPECT_EQ(input.bytes().size(), 6U);
    EXPECT_EQ(scan(input, Dialect{}, Machine{}).records, 2U);
    EXPECT_EQ(input.bytes().size(), 4U);
    EXPECT_EQ(input.left_out(), 2U);
    EXPECT_EQ(input.identity().size, 6U);
    fs::resize_file(path, 5);
    expect_throw<InputChangedError>(kTruncated, [&] { input.throw_if_changed(); });
}

TEST_F(ChangedInputTest, EveryReaderOfASnapshotLeavesOutTheIncompleteRecord) {
    const std::string path = write("h\n1\n2\n\"3\n");
    const auto snapshot = [&] { return Input::open_snapshot(path); };
    Input input = snapshot();
    EXPECT_EQ(index_records(input, Dialect{}, Machine{}).end(), (Boundary{6, 3}));
    EXPECT_EQ(index_records(input, Dialect{}, Machine{}).end(), (Boundary{6, 3}));
    EXPECT_EQ(input.left_out(), 3U);
    EXPECT_EQ(scan(input = snapshot(), Dialect{}, Machine{}).open_quote, std::nullopt);
    EXPECT_EQ(examine(input = snapshot(), Dialect{}, Machine{}).findings.size, 6U);
    Policy policy;
    policy.records = 1;
    EXPECT_EQ(plan(input = snapshot(), policy).pieces.size(), 2U);
}

// In a short input every record weighs something.
TEST_F(ChangedInputTest, TheIncompleteRecordDoesNotDecideTheDelimiter) {
    const std::string path = write("a;b\n\"1,2,3,4,5,6,7\n,,,,,,\n,,,,,,\n");
    EXPECT_EQ(settle_dialect({}, bytes_of("a;b\n"), "").dialect.delimiter, ';');
    Input input = Input::open_snapshot(path);
    EXPECT_EQ(settle_dialect({}, input).dialect.delimiter, ';');
    EXPECT_EQ(input.bytes().size(), 4U);
}

TEST_F(ChangedInputTest, ASnapshotOfAnEmptyFileStaysEmpty) {
    const std::string path = write("");
    Input input = Input::open_snapshot(path);
    overwrite(path, 0, "h\n1\n");
    EXPECT_TRUE(input.bytes().empty());
    EXPECT_EQ(scan(input, Dialect{}, Machine{}).records, 0U);
    EXPECT_EQ(examine(input, Dialect{}, Machine{}).findings.size, 0U);
}

TEST_F(FaultTest, ASnapshotThatWasShorterMeanwhileIsAnError) {
    const std::string path = write();
    Input input = Input::open_snapshot(path);
    fs::resize_file(path, 0);
    EXPECT_EQ(input.bytes()[kSize - 1], 0);
    overwrite(path, 0, rows(2 * kSize));
    expect_throw<InputChangedError>(kGrew, [&] { input.throw_if_changed(); });
}

TEST_F(ChangedInputTest, WhatHasNoSizeOrIsCompressedHasNoSnapshot) {
    const auto refused = [](const std::string& why, const std::string& path) {
        expect_throw<SnapshotError>(why, [&] { (void)Input::open_snapshot(path); });
    };
    const Pipe pipe("h\n1\n", {4});
    refused("it is not a file", pipe.path());
    refused("it is not a file", "/dev/null");
    refused("its size is not known", "/proc/self/status");
    refused("it is compressed", write("\x1f\x8b\x08 and so on"));
}

TEST_F(ChangedInputTest, ADifferentNameOwnerOrModeIsNoChange) {
    const std::string path = write();
    const std::string other = directory_.path("other.csv");
    const auto unchanged = [&](const auto& change) {
        const Input input = Input::open(path);
        change();
        return input.is_unchanged();
    };
    EXPECT_TRUE(unchanged([&] { fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write); }));
    EXPECT_TRUE(unchanged([&] { fs::create_hard_link(path, other); }));
    EXPECT_TRUE(unchanged([&] { fs::remove(other); }));
    EXPECT_TRUE(unchanged([&] { fs::rename(path, other); }));
    fs::rename(other, path);
    directory_.write("new.csv", "h\n");
    EXPECT_TRUE(unchanged([&] { fs::rename(directory_.path("new.csv"), path); }));
    EXPECT_TRUE(unchanged([&] { fs::remove(path); }));
}

TEST_F(ChangedInputTest, PipesAndTheirCopiesDoNotChange) {
    Pipe pipe("h\n1\n2\n", {4096});
    Input input = Input::open(pipe.path());
    EXPECT_TRUE(input.is_unchanged());
    input.spool();
    EXPECT_EQ(scan(input, Dialect{}, Machine{}).records, 3U);
    EXPECT_TRUE(Input::open("/proc/self/status").is_unchanged());
}

TEST_F(ChangedInputTest, AnErrorOfTheSystemStaysWhatItIs) {
    const Input input = Input::open(write());
    const auto rethrown = [&](int code) {
        return [&input, code] {
            try {
                throw std::system_error(code, std::generic_category(), "out");
            } catch (const std::exception&) {
                input.rethrow();
            }
        };
    };
    expect_throw<std::system_error>("out: No space left on device", rethrown(ENOSPC));
    expect_throw<std::system_error>(input.path() + ": Input/output error", rethrown(EFAULT));
    fs::resize_file(input.path(), 1);
    expect_throw<InputChangedError>(kTruncated, rethrown(ENOSPC));
    expect_throw<InputChangedError>(kTruncated, rethrown(EFAULT));
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
                            } catch (const HeaderSizeError&) {
                                EXPECT_TRUE(policy.size);
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
