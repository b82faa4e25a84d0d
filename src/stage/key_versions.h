// The versions of a key: a file holds the newest one, and files beside it with the names FILE.v1, FILE.v2 and so on
// hold the older ones. `cleave key rotate` makes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cleave {

struct KeyVersion {
    std::uint64_t number;
    std::string path;
};

constexpr std::uint64_t kMaxKeyVersion = 999'999'999;

// All versions, in ascending order; the last one is the file itself. Throws SystemError if the file does not exist or
// its folder cannot be listed.
std::vector<KeyVersion> versions_of_key(const std::string& path);

// The file that holds this version, or nothing if there is no such version. If no older versions are beside the file,
// it may have any version, because a secret store can hand out any.
std::optional<std::string> path_of_version(const std::string& path, std::uint64_t number);

// The name of an older version.
std::string name_of_version(const std::string& path, std::uint64_t number);

}  // namespace cleave
