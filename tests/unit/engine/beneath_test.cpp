// Files whose names come from outside are opened beneath a folder, and nowhere else.
#include "engine/beneath.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "temporary_directory.h"

namespace cleave::test::beneath_test {

namespace fs = std::filesystem;

TEST(PathBeneath, ComparesParts) {
    const auto rest = [](const char* folder, const char* path) { return path_beneath(folder, path).value_or("-"); };
    EXPECT_EQ(rest("", "a"), "a");
    EXPECT_EQ(rest("", "./a//b/./c"), "a/b/c");
    EXPECT_EQ(rest("./", "a"), "a");
    EXPECT_EQ(rest("out/", "out/a"), "a");
    EXPECT_EQ(rest("./out//", "out/x/a"), "x/a");
    EXPECT_EQ(rest("../out/", "../out/a"), "a");
    EXPECT_EQ(rest("/data/", "/data/a"), "a");
    EXPECT_EQ(rest("/", "/a"), "a");

    EXPECT_EQ(rest("", ""), "-");
    EXPECT_EQ(rest("", "."), "-");
    EXPECT_EQ(rest("", "/a"), "-");
    EXPECT_EQ(rest("", "../a"), "-");
    EXPECT_EQ(rest("", "a/../b"), "-");
    EXPECT_EQ(rest("out/", "out"), "-");
    EXPECT_EQ(rest("out/", "outer/a"), "-");
    EXPECT_EQ(rest("out/", "a"), "-");
    EXPECT_EQ(rest("out/", "out/../a"), "-");
    EXPECT_EQ(rest("out/", "/out/a"), "-");
    EXPECT_EQ(rest("/out/", "out/a"), "-");
    EXPECT_EQ(rest("..", "../../a"), "-");
}

using Open = Fd (*)(const Fd&, const std::string&, const std::string&);

class Beneath : public testing::TestWithParam<Open> {
protected:
    void SetUp() override {
        fs::create_directories(folder_.path("in/deep"));
        folder_.write("outside", "no");
        folder_.write("in/file", "yes");
        folder_.write("in/deep/file", "yes");
        fs::create_symlink("../outside", folder_.path("in/link"));
        fs::create_symlink("file", folder_.path("in/inner"));
        fs::create_symlink("deep", folder_.path("in/way"));
        ASSERT_EQ(::mkfifo(folder_.path("in/fifo").c_str(), 0600), 0);
    }

    // Returns 0 if the file is opened.
    int error(const std::string& name) const {
        try {
            const Fd file = GetParam()(open_folder(folder_.path("in")), name, "shown");
            EXPECT_EQ(read_to_end(file.get(), 100, name), "yes");
            return 0;
        } catch (const std::system_error& error) {
            EXPECT_NE(std::string(error.what()).find("shown"), std::string::npos);
            return error.code().value();
        }
    }

    TemporaryDirectory folder_;
};

TEST_P(Beneath, OpensRegularFilesOnly) {
    EXPECT_EQ(error("file"), 0);
    EXPECT_EQ(error("deep/file"), 0);
    EXPECT_EQ(error("./deep//file"), 0);
    EXPECT_EQ(error("missing"), ENOENT);
    EXPECT_EQ(error("missing/file"), ENOENT);
    EXPECT_EQ(error("file/file"), ENOTDIR);
    EXPECT_EQ(error("deep"), EINVAL);
    EXPECT_EQ(error("fifo"), EINVAL);  // without waiting for a writer
}

TEST_P(Beneath, NeverLeavesTheFolder) {
    EXPECT_EQ(error("../outside"), EXDEV);
    EXPECT_EQ(error("deep/../../outside"), EXDEV);
    EXPECT_EQ(error("deep/../file"), EXDEV);
    EXPECT_EQ(error(folder_.path("in/file")), EXDEV);
    EXPECT_EQ(error(""), EXDEV);
    EXPECT_EQ(error("link"), ELOOP);
    EXPECT_EQ(error("inner"), ELOOP);
    EXPECT_EQ(error("way/file"), ELOOP);
}

INSTANTIATE_TEST_SUITE_P(Each, Beneath, testing::Values(&open_beneath, &open_part_by_part));

}  // namespace cleave::test::beneath_test
