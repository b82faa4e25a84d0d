// The versions of a key. Each version is a file: FILE.v1, FILE.v2 and so on. FILE itself is a hard link to the version
// in use. A key that has never been rotated is just FILE, and counts as version 1. `cleave key rotate` makes new
// versions.
//
// If FILE is not a link to any version, for example because its folder was copied without links, it is the version
// after the last one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cleave {

struct KeyVersion {
    std::uint64_t number = 0;  // 1 or above
    std::string path = {};     // FILE only if the version has no other name
    bool is_in_use = false;    // FILE is this version
};

constexpr std::uint64_t kMaxKeyVersion = 999'999'999;

// What names a key file on the command line and in --key: PATH, or PATH@VERSION.
struct KeyFile {
    std::string path = {};
    std::uint64_t version = 0;  // 0 if none is given
};

// A file whose name ends in @NUMBER is that file, without a version. Throws ArgumentError if there is such a file and
// also the one without @NUMBER.
KeyFile file_source(const std::string& text);

// The file itself, if the path is a symbolic link: versions are beside the file, not beside the link.
std::string followed(const std::string& path);

// All versions in ascending order. Throws SystemError if the file does not exist or its folder cannot be listed.
std::vector<KeyVersion> versions_of_key(const std::string& path);

// The file that holds this version; nothing if there is no such version. Throws like versions_of_key().
std::optional<std::string> path_of_version(const std::string& path, std::uint64_t number);

std::string name_of_version(const std::string& path, std::uint64_t number);

// Takes @VERSION from the end of the text, a number from 1 to kMaxKeyVersion without leading zeros, and returns it.
// Returns 0 if the text has none.
std::uint64_t take_version(std::string& text);

}  // namespace cleave
