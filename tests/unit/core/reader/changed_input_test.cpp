// Inputs that are changed while they are read, or that can no longer be read.
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

#include "changed_input.h"
#include "cleave/error.h"
#include "cleave/examine.h"
#include "cleave/plan_file.h"
#include "cleave/scan.h"
#include "core/reader/mapping.h"
#include "core/reader/stable_input.h"
#include "inputs.h"
#include "jobs.h"
#include "mapped_input.h"
#include "pipe_input.h"

namespace cleave::test::changed_input_test {

namespace fs = std::filesystem;

using FaultDeathTest = ChangedInputTest;

TEST_F(FaultTest, WhatATruncationTookIsZerosToTheEnd) {
    const std::string path = write();
    const Input input = open_mapped(path);
    fs::resize_file(path, 10 * kPage + 1);
    const auto bytes = input.bytes();
    EXPECT_EQ(bytes[20 * kPage + 5], 0);
    EXPECT_THROW(input.blob().throw_if_lost(), InputChangedError);
    EXPECT_EQ(bytes[0], '1');
    fs::resize_file(path, 0);
    overwrite(path, 0, rows(kSize));
    // From the page of the first fault on, the bytes are no longer the file's; before that page they still are.
    EXPECT_TRUE(std::ranges::all_of(bytes.subspan(20 * kPage), [](std::uint8_t byte) { return byte == 0; }));
    EXPECT_NE(bytes[20 * kPage - 1], 0);
    expect_throw<InputChangedError>(kChanged, [&] { input.throw_if_changed(); });
}

TEST_F(FaultTest, ATruncatedInputIsAnErrorWhetherItIsReadOrNot) {
    const std::string path = write();
    const Input input = open_mapped(path);
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
    // The mapping extends past the end of a file that never changes, which looks the same as an unreadable page.
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
        const Input input = open_mapped(path);
        fs::resize_file(path, 0);
        std::vector<std::jthread> threads;
        threads.reserve(4);
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
        const Input input = open_mapped(path);
        fs::resize_file(path, 0);
        EXPECT_EQ(input.bytes()[0], 0);
        EXPECT_NO_THROW(other.blob().throw_if_lost());
    }
    const Input again = open_mapped(write());
    EXPECT_NO_THROW(again.blob().throw_if_lost());
    EXPECT_TRUE(again.is_unchanged() && other.is_unchanged());
}

TEST_F(FaultTest, ErrnoIsKept) {
    const std::string path = write();
    const Input input = open_mapped(path);
    fs::resize_file(path, 0);
    errno = EDOM;
    const int byte = input.bytes()[0];
    EXPECT_EQ(errno, EDOM);
    EXPECT_EQ(byte, 0);
}

TEST_F(FaultTest, AScanOfATruncatedInputIsAnError) {
    const std::string path = write(rows(kSize - 2) + "\"");  // if nothing is lost, a quote is never closed
    for (const std::size_t size : {kSize - 1, kPage, std::size_t{0}}) {
        write(rows(kSize));
        Input input = open_mapped(path);
        fs::resize_file(path, size);
        expect_throw<InputChangedError>(kTruncated, [&] { scan(input, Dialect{}, Execution{nullptr, 2, kPage}); });
    }
}

TEST_F(FaultTest, ASplitOfATruncatedInputLeavesNothing) {
    const std::string path = write();
    const TemporaryDirectory out;
    Job job = by_pieces(4);
    job.output.names = out.path("{i}");
    // Truncates the file between planning and writing, or while the last piece is written; write() itself then cannot
    // read the bytes.
    for (const bool early : {true, false}) {
        write();
        Input input = open_mapped(path);
        Watcher watcher([&](const Piece& piece, const std::string&, const PieceResult&) {
            if (piece.number == 3) fs::resize_file(path, 0);
        });
        job.allow_open_quote = true;
        if (early) watcher.on_found = [&](const Findings&) { fs::resize_file(path, 0); };
        expect_throw<InputChangedError>(kTruncated, [&] { run_job(input, job, watcher); });
        EXPECT_TRUE(out.files().empty());
    }
}

TEST_F(FaultDeathTest, WithoutAGuardItIsAsEver) {
    const std::string path = write();
    const Input input = open_mapped(path);
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

// A caller that plans from a path needs no guard, even if another thread truncates the file meanwhile.
TEST_F(ChangedInputTest, APlanWithoutAGuardIsNoSignal) {
    const std::string text = rows(std::size_t{32} << 20);
    Policy policy;
    policy.pieces = 4;
    bool is_noticed = false;
    for (int round = 0; round < 50 && !is_noticed; ++round) {
        const std::string path = write(text);
        Meter meter;
        PlanOptions options;
        options.execution = {nullptr, 1, kPage, &meter};
        const std::jthread other([&](const std::stop_token& stop) {
            while (meter.scanned == 0 && !stop.stop_requested()) std::this_thread::yield();
            fs::resize_file(path, 0);
        });
        try {
            (void)plan(path, policy, options);
        } catch (const InputChangedError&) {
            is_noticed = true;
        }
    }
    EXPECT_TRUE(is_noticed);
    EXPECT_FALSE(MappingGuard::is_active());
    const MappingGuard guard;
    EXPECT_TRUE(MappingGuard::is_active());
}

TEST_F(ChangedInputTest, WhereTooManyAreMappedOthersAreStreams) {
    const std::string path = write();
    std::vector<Input> inputs;
    while (inputs.size() < Mapping::kMaxCount) inputs.push_back(open_mapped(path));
    EXPECT_TRUE(inputs.back().is_mapped());
    Input stream = open_mapped(path);
    EXPECT_FALSE(stream.is_mapped());
    EXPECT_EQ(scan(stream, Dialect{}, Execution{}).size, kSize);
    inputs.pop_back();
    EXPECT_TRUE(open_mapped(path).is_mapped());

    // A file that is read as a stream reports the same changes.
    inputs.push_back(open_mapped(path));
    stream = open_mapped(path);
    ASSERT_FALSE(stream.is_mapped());
    fs::resize_file(path, kSize - 1);
    expect_throw<InputChangedError>(kTruncated, [&] { scan(stream, Dialect{}, Execution{}); });
    stream = open_mapped(path);
    overwrite(path, 0, "9");
    inputs.clear();
    expect_throw<InputChangedError>(kChanged, [&] { stream.spool(); });
}

TEST_F(ChangedInputTest, GrownOrRewritten) {
    const std::string path = write();
    {
        const Input input = open_mapped(path);
        overwrite(path, kSize, "1");
        expect_throw<InputChangedError>(kGrew, [&] { input.throw_if_changed(); });
    }
    {
        const Input input = open_mapped(path);
        overwrite(path, 0, "7");
        expect_throw<InputChangedError>(kChanged, [&] { input.throw_if_changed(); });
    }
    const Input input = open_mapped(path);
    const auto time = fs::last_write_time(path);
    overwrite(path, 0, "8");
    fs::last_write_time(path, time);
    EXPECT_FALSE(input.is_unchanged());
    expect_throw<InputChangedError>(kChanged, [&] { input.throw_if_changed(); });
}

// Like touch -a. Repeats until the file's ctime changes, as overwrite() does for the mtime.
void touch(const std::string& path) {
    const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    const timespec before = stat_of(file.get(), path).st_ctim;
    do {
        const timespec times[] = {{1, 0}, {0, UTIME_OMIT}};
        ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
    } while (is_same_moment(stat_of(file.get(), path).st_ctim, before));
}

TEST_F(ChangedInputTest, ATouchIsAcceptedOnceAndAWriteIsNot) {
    const std::string path = write();
    const Input input = open_mapped(path);
    EXPECT_FALSE(input.accept_touch());
    touch(path);
    EXPECT_FALSE(input.is_unchanged());
    EXPECT_TRUE(input.accept_touch());
    EXPECT_TRUE(input.is_unchanged());
    EXPECT_FALSE(input.accept_touch());
    overwrite(path, 0, "7");
    expect_throw<InputChangedError>(kChanged, [&] { input.accept_touch(); });
    expect_throw<InputChangedError>(kChanged, [&] { input.throw_if_changed(); });
}

// A touch while the results are compared makes another comparison necessary.
TEST_F(ChangedInputTest, ATouchMayComeAtAnyTimeButNotForEver) {
    const std::string path = write();
    const Input input = open_mapped(path);
    unsigned compared = 0;
    const auto touched = [&](unsigned times) {
        return [&path, &compared, times] {
            if (++compared < times) touch(path);
            return true;
        };
    };
    throw_unless_same(input, touched(1));
    EXPECT_EQ(compared, 0U);
    touch(path);
    throw_unless_same(input, touched(3));
    EXPECT_EQ(compared, 3U);
    touch(path);
    EXPECT_THROW(throw_unless_same(input, touched(1000)), InputChangedError);
    touch(path);
    EXPECT_THROW(throw_unless_same(input, [] { return false; }), InputChangedError);
}

TEST_F(ChangedInputTest, ATouchDoesNotUndoAScanOrAnExamination) {
    const std::string path = write();
    Input input = open_mapped(path);
    touch(path);
    EXPECT_EQ(scan(input, Dialect{}, Execution{}).size, kSize);
    touch(path);
    EXPECT_EQ(examine(input, Dialect{}, Execution{}).findings.size, kSize);
}

TEST_F(ChangedInputTest, ATouchDoesNotUndoASplitButAWriteWithTheOldTimeDoes) {
    const std::string path = write();
    Job job = by_pieces(4);
    const auto split = [&](const auto& change) {
        const TemporaryDirectory out;
        Input input = open_mapped(write());
        job.output.names = out.path("{i}");
        Watcher watcher([&](const Piece& piece, const std::string&, const PieceResult&) {
            if (piece.number == 3) change();
        });
        job.allow_open_quote = true;
        try {
            run_job(input, job, watcher);
        } catch (const InputChangedError&) {  // the remaining files are counted below
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
    for (const Passes passes : {Passes::kOne, Passes::kTwo}) {
        job.passes = passes;
        EXPECT_EQ(split([&] { touch(path); }), 4U);
        EXPECT_EQ(split(rewrite("8")), 0U);   // the bytes of the pieces differ
        EXPECT_EQ(split(rewrite("\n")), 0U);  // the records differ, too
        job.output.checksum = true;
        EXPECT_EQ(split([&] { touch(path); }), 0U);  // checksums are not checked again
        job.output.checksum = false;
    }
}

TEST_F(ChangedInputTest, ADifferentNameOwnerOrModeIsNoChange) {
    const std::string path = write();
    const std::string other = directory_.path("other.csv");
    const auto unchanged = [&](const auto& change) {
        const Input input = open_mapped(path);
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
    Input input = open_mapped(pipe.path());
    EXPECT_TRUE(input.is_unchanged());
    input.spool();
    EXPECT_EQ(scan(input, Dialect{}, Execution{}).records, 3U);
    EXPECT_TRUE(Input::open("/proc/self/status").is_unchanged());
}

TEST_F(ChangedInputTest, AnErrorOfTheSystemStaysWhatItIs) {
    const Input input = open_mapped(write());
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

// The bytes under an index change: whatever the result, the calls end and stay within bounds.
TEST(ChangedBytesTest, LocatingAndPlanningComeToAnEnd) {
    const std::string texts[] = {std::string(40'000, '\0'), std::string(40'000, '\n'), std::string(40'000, '"'),
                                 rows(40'000), rows(40'000).replace(9'000, 21'000, 21'000, '\n')};
    for (const std::string& before : texts) {
        for (const std::string& after : texts) {
            for (const std::size_t block_size : {std::size_t{1000}, std::size_t{4096}, std::size_t{1} << 20}) {
                std::vector<std::uint8_t> bytes(before.begin(), before.end());
                const RecordIndex index(bytes, Dialect{}, Execution{nullptr, 1, block_size});
                std::ranges::copy(after, bytes.begin());
                for (const std::uint64_t number : {1U, 7U, 1000U}) {
                    Policy policies[3];
                    policies[0].records = number;
                    policies[1].max_bytes = number * 10;
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
                                EXPECT_TRUE(policy.max_bytes);
                            }
                        }
                    }
                }
            }
        }
    }
}

}  // namespace cleave::test::changed_input_test
