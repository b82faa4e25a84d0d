#include "stage/key_versions.h"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "cleave/error.h"
#include "io/fd.h"

namespace cleave {
namespace {

// N, if the text is "FILE.vN".
std::optional<std::uint64_t> number_in(std::string_view text, std::string_view file) {
    constexpr std::string_view kMark = ".v";
    if (!text.starts_with(file) || !text.substr(file.size()).starts_with(kMark)) return std::nullopt;
    const std::string_view digits = text.substr(file.size() + kMark.size());
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    const bool is_number = error == std::errc() && end == digits.data() + digits.size() && digits[0] != '0';
    return is_number && number <= kMaxKeyVersion ? std::optional(number) : std::nullopt;
}

struct stat status_of(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) throw_errno(path);
    return status;
}

}  // namespace

std::string name_of_version(const std::string& path, std::uint64_t number) {
    return path + ".v" + std::to_string(number);
}

std::vector<KeyVersion> versions_of_key(const std::string& path) {
    const struct stat newest = status_of(path);
    const std::filesystem::path file(path);
    const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
    std::vector<KeyVersion> versions;
    std::error_code error;
    std::filesystem::directory_iterator entries(folder, error);
    for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
        const auto number = number_in(entries->path().filename().native(), file.filename().native());
        if (!number) continue;
        // A rotation that was killed leaves another name of the newest version.
        const std::string name = name_of_version(path, *number);
        const struct stat older = status_of(name);
        if (older.st_dev != newest.st_dev || older.st_ino != newest.st_ino) versions.push_back({*number, name});
    }
    if (error) throw SystemError(error, folder.native());
    std::ranges::sort(versions, {}, &KeyVersion::number);
    versions.push_back({versions.empty() ? 1 : versions.back().number + 1, path});
    return versions;
}

std::optional<std::string> path_of_version(const std::string& path, std::uint64_t number) {
    const std::vector<KeyVersion> versions = versions_of_key(path);
    const auto found = std::ranges::find(versions, number, &KeyVersion::number);
    if (found != versions.end()) return found->path;
    return versions.size() == 1 ? std::optional(path) : std::nullopt;
}

}  // namespace cleave
