// The rights that the command keeps, tested in child processes that give up all others.
#include "cli/sandbox.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/landlock.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <functional>
#include <string>
#include <tuple>

#include "temporary_directory.h"

namespace cleave::cli {
namespace {

using test::TemporaryDirectory;

bool has_landlock() { return ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION) >= 1; }

// Returns what `attempt` returns in a child that has confined itself.
int in_confined_child(const Permissions& permissions, const std::function<int()>& attempt) {
    const pid_t child = ::fork();
    if (child == 0) {
        std::ignore = confine(permissions);
        ::_exit(attempt());
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Returns 0 or errno.
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

std::int64_t landlock_version() {
    return ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
}

// Returns 0, or the errno of binding or connecting to the address.
template <class Address>
int try_socket(int (*use)(int, const sockaddr*, socklen_t), Address address, socklen_t size = sizeof(Address)) {
    const int socket = ::socket(reinterpret_cast<sockaddr&>(address).sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int error = use(socket, reinterpret_cast<const sockaddr*>(&address), size) == 0 ? 0 : errno;
    ::close(socket);
    return error;
}

TEST_F(Sandbox, NoTcpSocketCanBeUsed) {
    if (landlock_version() < 4) GTEST_SKIP() << "this kernel's Landlock has no network";
    sockaddr_in any_port{};
    any_port.sin_family = AF_INET;
    any_port.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(try_socket(::bind, any_port), 0) << "without the sandbox";
    EXPECT_EQ(in_confined_child({}, [&] { return try_socket(::bind, any_port); }), EACCES);
    sockaddr_in closed_port = any_port;
    closed_port.sin_port = htons(1);
    ASSERT_EQ(try_socket(::connect, closed_port), ECONNREFUSED) << "without the sandbox";
    EXPECT_EQ(in_confined_child({}, [&] { return try_socket(::connect, closed_port); }), EACCES);
}

TEST_F(Sandbox, NoOtherProcessCanBeReached) {
    if (landlock_version() < 6) GTEST_SKIP() << "this kernel's Landlock has no scopes";
    EXPECT_EQ(in_confined_child({}, [] { return ::kill(::getppid(), 0) == 0 ? 0 : errno; }), EPERM);
    EXPECT_EQ(in_confined_child({}, [] { return ::kill(::getpid(), 0) == 0 ? 0 : errno; }), 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string name = "cleave-sandbox-test-" + std::to_string(::getpid());
    name.copy(address.sun_path + 1, sizeof address.sun_path - 1);  // abstract, so it begins with a NUL byte
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    const int server = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(::bind(server, reinterpret_cast<const sockaddr*>(&address), size), 0);
    ASSERT_EQ(::listen(server, 4), 0);
    ASSERT_EQ(try_socket(::connect, address, size), 0) << "without the sandbox";
    EXPECT_EQ(in_confined_child({}, [&] { return try_socket(::connect, address, size); }), EPERM);
    ::close(server);
}

// A process may have only 16 rulesets.
TEST_F(Sandbox, AFailureIsTold) {
    EXPECT_EQ(in_confined_child({},
                                [] {
                                    int before = 1;
                                    while (before < 100 && confine({}).empty()) ++before;
                                    return before;
                                }),
              16);
    EXPECT_EQ(in_confined_child({},
                                [] {
                                    for (int i = 1; i < 16; ++i) std::ignore = confine({});
                                    return confine({}) == "Landlock: Argument list too long" ? 1 : 0;
                                }),
              1);
}

TEST(Confine, TakesThePrivilegeToGainPrivileges) {
    EXPECT_EQ(in_confined_child({}, [] { return ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); }), 1);
}

}  // namespace
}  // namespace cleave::cli
