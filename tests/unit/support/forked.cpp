#include "forked.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <thread>

namespace cleave::test {
namespace {

#ifdef CLEAVE_SANITIZED
constexpr bool kMustBeQuiet = true;
#else
constexpr bool kMustBeQuiet = false;
#endif

constexpr auto kPause = std::chrono::milliseconds(2);

// How often each thread of this process but the calling one has been switched out, by thread, or nothing if one of them
// is not asleep. A thread that is asleep in two looks, with the same number, has slept in between.
std::optional<std::map<std::string, std::string>> look_at_other_threads() {
    const std::string self = std::filesystem::read_symlink("/proc/thread-self").filename();
    std::map<std::string, std::string> switches;
    for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
        const std::string number = thread.path().filename();
        if (number == self) continue;
        std::ifstream status(thread.path() / "status");
        for (std::string line; std::getline(status, line);) {
            if (line.starts_with("State:") && line.find('S', 6) == std::string::npos) return std::nullopt;
            if (line.find("ctxt_switches:") != std::string::npos) switches[number] += line;
        }
    }
    return switches;
}

void wait_until_other_threads_sleep() {
    for (auto before = look_at_other_threads();;) {
        std::this_thread::sleep_for(kPause);
        auto now = look_at_other_threads();
        if (now && now == before) return;
        before = std::move(now);
    }
}

}  // namespace

int exit_status_of(const std::function<int()>& work) {
    if (kMustBeQuiet) wait_until_other_threads_sleep();
    const ::pid_t child = ::fork();
    if (child == 0) {
        ::alarm(60);
        ::_exit(work());
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace cleave::test
