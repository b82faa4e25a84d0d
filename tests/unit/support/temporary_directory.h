// A directory for one test, removed with all its contents.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace cleave::test {

// All bytes of the file; none if it cannot be read.
std::string slurp(const std::string& path);

class TemporaryDirectory {
public:
    // Throws std::system_error.
    TemporaryDirectory();
    TemporaryDirectory(const TemporaryDirectory&) = delete;
    TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
    ~TemporaryDirectory();

    std::string path(std::string_view name) const;
    // Creates a file and returns its path.
    std::string write(std::string_view name, std::string_view text) const;

    // The contents of every file below the directory, hidden ones included, by name; a directory's name ends in '/'.
    std::map<std::string, std::string> files() const;

private:
    std::string root_;
};

}  // namespace cleave::test
