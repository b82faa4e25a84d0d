// A pipe that is filled in advance: with no thread to fill it, a run is cheap and repeatable.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

namespace cleave::test {

class FilledPipe {
public:
    static constexpr std::size_t kMaxPartSize = 4096;
    static constexpr std::size_t kMaxParts = 256;

    // Every read returns one part, except that Input::peek gathers parts. The first `first` bytes come in parts of the
    // largest size. The rest come in parts of the given sizes, in rotation, and once there are many parts, in parts of
    // the largest size again. The text must not be larger than 100 KiB. Throws std::system_error.
    FilledPipe(std::string_view text, std::size_t first, std::span<const std::size_t> part_sizes) {
        if (::pipe2(ends_, O_CLOEXEC | O_DIRECT | O_NONBLOCK) != 0) fail();
        if (::fcntl(ends_[1], F_SETPIPE_SZ, static_cast<int>(kMaxParts * kMaxPartSize)) < 0) fail();
        std::size_t parts = 0;
        for (std::size_t i = 0; i < text.size(); ++parts) {
            std::size_t size = std::min(kMaxPartSize, text.size() - i);
            if (i < first) {
                size = std::min(size, first - i);
            } else if (parts < kMaxParts - 32) {
                size = std::min(size, part_sizes[parts % part_sizes.size()]);
            }
            if (::write(ends_[1], text.data() + i, size) != static_cast<ssize_t>(size)) fail();
            i += size;
        }
        ::close(ends_[1]);
    }
    FilledPipe(const FilledPipe&) = delete;
    FilledPipe& operator=(const FilledPipe&) = delete;
    ~FilledPipe() { ::close(ends_[0]); }

    // For one call of Input::open.
    std::string path() const { return "/proc/self/fd/" + std::to_string(ends_[0]); }

private:
    [[noreturn]] static void fail() { throw std::system_error(errno, std::generic_category(), "pipe"); }

    int ends_[2]{};
};

}  // namespace cleave::test
