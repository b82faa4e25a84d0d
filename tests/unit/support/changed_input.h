// Shared by the tests of inputs that change.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "cleave/mapping_guard.h"
#include "core/reader/fd.h"
#include "temporary_directory.h"

namespace cleave::test {

inline constexpr std::size_t kPage = 4096;
inline constexpr std::size_t kSize = 64 * kPage;
inline constexpr char kTruncated[] = "input truncated while reading";
inline constexpr char kChanged[] = "the input was modified while it was read (its mtime or size changed)";
inline constexpr char kGrew[] = "input grew while reading";

inline std::string rows(std::size_t size) {
    std::string text;
    while (text.size() < size) text += "1,\"two\",3\n";
    text.resize(size - 1);
    return text + "\n";
}

// Expects the call to throw an Error with this text.
template <class Error, class Call>
void expect_throw(const std::string& what, const Call& call) {
    try {
        call();
        ADD_FAILURE() << "nothing was thrown, but should have been: " << what;
    } catch (const Error& error) {
        EXPECT_STREQ(error.what(), what.c_str());
    }
}

inline bool is_same_moment(const timespec& a, const timespec& b) {
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

// Writes until the file's mtime changes, because a file system's clock may stand still for some milliseconds.
inline void overwrite(const std::string& path, std::uint64_t offset, const std::string& text) {
    const Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    ASSERT_TRUE(file.is_open());
    const timespec before = stat_of(file.get(), path).st_mtim;
    do {
        ASSERT_EQ(::pwrite(file.get(), text.data(), text.size(), static_cast<off_t>(offset)),
                  static_cast<ssize_t>(text.size()));
    } while (is_same_moment(stat_of(file.get(), path).st_mtim, before));
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

}  // namespace cleave::test
