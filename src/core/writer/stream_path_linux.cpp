#include "core/writer/stream_path.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include "core/reader/temporary_file.h"

namespace cleave {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxLinks = 40;  // in one path; the kernel has the same limit

std::optional<int> parse_number(std::string_view text) {
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
    return number;
}

// Recognises the usual names, which stand for a descriptor even where /proc is not mounted.
std::optional<int> descriptor_by_name(const std::string& path) {
    if (path == "/dev/stdin") return STDIN_FILENO;
    if (path == "/dev/stdout") return STDOUT_FILENO;
    if (path == "/dev/stderr") return STDERR_FILENO;
    for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
        if (path.starts_with(folder)) return parse_number(path.substr(folder.size()));
    }
    return std::nullopt;
}

// Follows links one at a time. A link in /proc/PID/fd must not be followed, because its target may not be a path.
std::optional<int> descriptor_behind(fs::path path) {
    const fs::path own = fs::path("/proc") / std::to_string(::getpid()) / "fd";
    for (int links = 0; links < kMaxLinks; ++links) {
        if (const auto descriptor = descriptor_by_name(path.string())) return descriptor;
        std::error_code error;
        const fs::path target = fs::read_symlink(path, error);
        if (error) return std::nullopt;
        const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
        if (fs::canonical(folder, error) == own) return parse_number(path.filename().string());
        path = folder / target;  // the target alone if it is absolute
    }
    return std::nullopt;
}

bool leads_to_pipe_or_device(const std::string& path) {
    struct stat status;
    return ::stat(path.c_str(), &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode));
}

}  // namespace

bool leads_to_stream(const std::string& path) { return descriptor_behind(path) || leads_to_pipe_or_device(path); }

std::string folder_beside(const std::string& path) {
    return std::string(leads_to_stream(path) ? std::string_view() : folder_of(path));
}

Fd open_stream(const std::string& path, const Cancellation* cancellation) {
    if (const auto descriptor = descriptor_behind(path)) {
        const int flags = ::fcntl(*descriptor, F_GETFL);
        if (flags >= 0 && (flags & O_ACCMODE) == O_RDONLY) errno = EBADF;
        const bool is_writable = flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
        Fd fd(is_writable ? ::fcntl(*descriptor, F_DUPFD_CLOEXEC, 0) : -1);
        if (!fd.is_open()) throw_errno(path);
        return fd;
    }
    for (;;) {
        Fd fd(::open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC));
        if (fd.is_open()) return fd;
        if (errno != EINTR) throw_errno(path);
        if (cancellation != nullptr) cancellation->throw_if_requested();
    }
}

}  // namespace cleave
