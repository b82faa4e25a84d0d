#include "cli/manual_page.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <string>

#include "base/module.h"
#include "cli/formatted.h"

namespace cleave::cli {
namespace {

// Redirects standard error to /dev/null, so that the user does not see man complain about a missing page.
class Quiet {
public:
    Quiet() {
        ::posix_spawn_file_actions_init(&actions_);
        ::posix_spawn_file_actions_addopen(&actions_, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    }
    ~Quiet() { ::posix_spawn_file_actions_destroy(&actions_); }
    Quiet(const Quiet&) = delete;
    Quiet& operator=(const Quiet&) = delete;

    const posix_spawn_file_actions_t* get() const { return &actions_; }

private:
    posix_spawn_file_actions_t actions_;
};

}  // namespace

std::string manual_page(std::string_view name) {
    std::error_code error;
    const std::string program = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
    std::vector<std::string> paths;
    for (const char section : {'1', '5', '7'}) {
        const std::string file = formatted("cleave-{}.{}", name, section);
        paths.push_back(formatted("{}/../share/man/man{}/{}", program, section, file));
        paths.push_back(paths.back() + ".gz");
        paths.push_back(formatted("{}/man/{}", program, file));
    }
    const std::string found = first_existing(paths);
    return found.empty() ? formatted("cleave-{}", name) : std::filesystem::path(found).lexically_normal().string();
}

PageShown show_manual_page(std::string_view name) {
    std::string man = "man";
    std::string page = manual_page(name);
    const std::array<char*, 3> words = {man.data(), page.data(), nullptr};
    pid_t child = 0;
    if (::posix_spawnp(&child, man.c_str(), Quiet().get(), nullptr, words.data(), environ) != 0)
        return PageShown::kNoMan;
    int status = 0;
    while (::waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) return PageShown::kNoPage;
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? PageShown::kYes : PageShown::kNoPage;
}

std::vector<std::string> topics() { return {"dialects", "redaction", "formats"}; }

}  // namespace cleave::cli
