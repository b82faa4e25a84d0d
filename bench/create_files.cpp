// create_files COUNT FILE DIRECTORY: writes the content of FILE into COUNT new files of equal size, with one write
// each. Creating these files cannot take less time than this.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <iostream>
#include <string>
#include <system_error>
#include <utility>

#include "cleave/input.h"
#include "cleave/mapping_guard.h"

namespace cleave {
namespace {

void create_file(const std::string& path, std::span<const std::uint8_t> bytes) {
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0) throw std::system_error(errno, std::generic_category(), path);
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    const int error = errno;
    if (::close(file) != 0 || std::cmp_not_equal(written, bytes.size())) {
        throw std::system_error(written < 0 ? error : EIO, std::generic_category(), path);
    }
}

}  // namespace
}  // namespace cleave

int main(int argc, char** argv) try {
    if (argc != 4) {
        std::cerr << "usage: create_files COUNT FILE DIRECTORY\n";
        return 2;
    }
    const std::size_t count = std::stoul(argv[1]);
    const cleave::MappingGuard guard;
    const cleave::Input input = cleave::Input::open(argv[2], nullptr, cleave::Access::kMapped);
    const std::string directory = argv[3];
    const auto bytes = input.bytes();
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t begin = bytes.size() * i / count;
        const std::size_t end = bytes.size() * (i + 1) / count;
        cleave::create_file(directory + "/" + std::to_string(i), bytes.subspan(begin, end - begin));
    }
    return 0;
} catch (const std::exception& error) {
    std::cerr << "create_files: " << error.what() << "\n";
    return 1;
}
