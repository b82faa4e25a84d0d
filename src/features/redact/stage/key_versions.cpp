#include "features/redact/stage/key_versions.h"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "cleave/error.h"
#include "core/reader/fd.h"

namespace cleave {
namespace {

// The number of a version, if the text is one.
std::optional<std::uint64_t> version_in(std::string_view digits) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    const bool is_number = error == std::errc() && end == digits.data() + digits.size() && digits[0] != '0';
    return is_number && number <= kMaxKeyVersion ? std::optional(number) : std::nullopt;
}

// N, if the text is "FILE.vN".
std::optional<std::uint64_t> number_in(std::string_view text, std::string_view file) {
    constexpr std::string_view kMark = ".v";
    if (!text.starts_with(file) || !text.substr(file.size()).starts_with(kMark)) return std::nullopt;
    return version_in(text.substr(file.size() + kMark.size()));
}

struct stat status_of(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) throw_errno(path);
    return status;
}

bool is_there(const std::string& path) {
    struct stat status;
    return ::stat(path.c_str(), &status) == 0;
}

}  // namespace

std::uint64_t take_version(std::string& text) {
    const std::size_t sign = text.rfind('@');
    if (sign == std::string::npos || sign == 0) return 0;
    const std::optional<std::uint64_t> version = version_in(std::string_view(text).substr(sign + 1));
    if (!version) return 0;
    text.resize(sign);
    return *version;
}

KeyFile file_source(const std::string& text) {
    KeyFile file{text};
    file.version = take_version(file.path);
    if (file.version == 0 || !is_there(text)) return file;
    if (is_there(file.path)) {
        throw ArgumentError(text + ": there is a file with this name, and also a key " + file.path +
                            " of which it may be a version; rename one of them");
    }
    return {text};
}

std::string followed(const std::string& path) {
    std::error_code error;
    if (!std::filesystem::is_symlink(path, error)) return path;
    // Links such as /dev/fd/3 may lead to something without a path.
    const std::filesystem::path file = std::filesystem::canonical(path, error);
    return error ? path : file.native();
}

std::string name_of_version(const std::string& path, std::uint64_t number) {
    return path + ".v" + std::to_string(number);
}

std::vector<KeyVersion> versions_of_key(const std::string& path) {
    const std::string key = followed(path);
    const struct stat in_use = status_of(key);
    const std::filesystem::path file(key);
    const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
    std::vector<KeyVersion> versions;
    std::error_code error;
    std::filesystem::directory_iterator entries(folder, error);
    for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
        const auto number = number_in(entries->path().filename().native(), file.filename().native());
        if (!number) continue;
        const std::string name = name_of_version(key, *number);
        const struct stat status = status_of(name);
        versions.push_back({*number, name, status.st_dev == in_use.st_dev && status.st_ino == in_use.st_ino});
    }
    if (error) throw SystemError(error, folder.native());
    std::ranges::sort(versions, {}, &KeyVersion::number);
    if (std::ranges::none_of(versions, &KeyVersion::is_in_use)) {
        versions.push_back({versions.empty() ? 1 : versions.back().number + 1, key, true});
    }
    return versions;
}

std::optional<std::string> path_of_version(const std::string& path, std::uint64_t number) {
    const std::vector<KeyVersion> versions = versions_of_key(path);
    const auto found = std::ranges::find(versions, number, &KeyVersion::number);
    return found != versions.end() ? std::optional(found->path) : std::nullopt;
}

}  // namespace cleave
