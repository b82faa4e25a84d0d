// The rights that the command keeps, tried by children that give the others up.
#include "cli/sandbox.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <string>

#include "temporary_directory.h"

namespace cleave::cli {
namespace {

using test::TemporaryDirectory;

bool has_landlock() { return ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION) >= 1; }

// What `attempt` returns in a child that has confined itself.
int in_confined_child(const Permissions& permissions, const std::function<int()>& attempt) {
    const pid_t child = ::fork();
    if (child == 0) {
        confine(permissions);
        ::_exit(attempt());
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// 0, or the error.
int try_open(const std::string& path, int flags) { return ::open(path.c_str(), flags, 0600) >= 0 ? 0 : errno; }

class Sandbox : public testing::Test {
protected:
    void SetUp() override {
        if (!has_landlock()) GTEST_SKIP() << "this kernel has no Landlock";
    }

    TemporaryDirectory in_, out_, other_;
};

TEST_F(Sandbox, InputsCanBeReadAndNotWritten) {
    const std::string input = in_.write("a", "x");
    EXPECT_EQ(in_confined_child({{input}, {}}, [&] { return try_open(input, O_RDONLY); }), 0);
    EXPECT_EQ(in_confined_child({{input}, {}}, [&] { return try_open(input, O_WRONLY); }), EACCES);
    EXPECT_EQ(in_confined_child({{input}, {}}, [&] { return ::unlink(input.c_str()) == 0 ? 0 : errno; }), EACCES);
}

TEST_F(Sandbox, OutputDirectoriesCanBeWrittenTo) {
    const std::string path = out_.path("new");
    EXPECT_EQ(in_confined_child({{}, {out_.path("")}}, [&] { return try_open(path, O_WRONLY | O_CREAT | O_EXCL); }), 0);
    EXPECT_EQ(in_confined_child({{}, {out_.path("")}}, [&] { return try_open(path, O_RDONLY); }), 0);
    EXPECT_EQ(in_confined_child({{}, {out_.path("")}}, [&] { return ::unlink(path.c_str()) == 0 ? 0 : errno; }), 0);
    EXPECT_EQ(in_confined_child({{}, {out_.path("")}},
                                [&] { return ::mkdir(out_.path("d").c_str(), 0700) == 0 ? 0 : errno; }),
              0);
    EXPECT_EQ(in_confined_child({{}, {out_.path("")}},
                                [&] { return ::mkfifo(out_.path("fifo").c_str(), 0600) == 0 ? 0 : errno; }),
              EACCES);
}

TEST_F(Sandbox, NothingElseCanBeOpened) {
    const std::string other = other_.write("a", "x");
    const Permissions permissions{{in_.write("a", "x")}, {out_.path("")}};
    EXPECT_EQ(in_confined_child(permissions, [&] { return try_open(other, O_WRONLY); }), EACCES);
    EXPECT_EQ(in_confined_child(permissions, [&] { return try_open(other_.path("b"), O_WRONLY | O_CREAT); }), EACCES);
#ifndef CLEAVE_SANITIZED
    EXPECT_EQ(in_confined_child(permissions, [&] { return try_open(other, O_RDONLY); }), EACCES);
#endif
}

TEST(Confine, TakesThePrivilegeToGainPrivileges) {
    EXPECT_EQ(in_confined_child({}, [] { return ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); }), 1);
}

}  // namespace
}  // namespace cleave::cli
