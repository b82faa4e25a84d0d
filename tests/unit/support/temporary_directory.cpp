#include "temporary_directory.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

namespace cleave::test {

std::string slurp(const std::string& path) {
    std::ostringstream bytes;
    bytes << std::ifstream(path, std::ios::binary).rdbuf();
    return std::move(bytes).str();
}

TemporaryDirectory::TemporaryDirectory() : root_(std::filesystem::temp_directory_path() / "cleave-test-XXXXXX") {
    if (::mkdtemp(root_.data()) == nullptr) throw std::system_error(errno, std::generic_category(), root_);
}

TemporaryDirectory::~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
}

std::string TemporaryDirectory::path(std::string_view name) const { return root_ + "/" + std::string(name); }

std::string TemporaryDirectory::write(std::string_view name, std::string_view text) const {
    std::ofstream file(path(name), std::ios::binary);
    file.write(text.data(), static_cast<std::streamsize>(text.size()));
    if (!file.flush()) throw std::system_error(errno, std::generic_category(), path(name));
    return path(name);
}

std::map<std::string, std::string> TemporaryDirectory::files() const {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root_)) {
        const std::string name = entry.path().string().substr(root_.size() + 1);
        if (entry.is_directory()) {
            files[name + "/"];
            continue;
        }
        files[name] = slurp(entry.path());
    }
    return files;
}

}  // namespace cleave::test
