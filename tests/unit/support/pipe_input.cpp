#include "pipe_input.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <system_error>

namespace cleave::test {
namespace {

void open_pipe(int* ends, int flags) {
    if (::pipe2(ends, O_CLOEXEC | flags) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
}

}  // namespace

Pipe::Pipe(std::string text, std::vector<std::size_t> part_sizes) {
    (void)std::signal(SIGPIPE, SIG_IGN);  // the reader may stop early
    int ends[2];
    open_pipe(ends, O_DIRECT);  // packets: each write is read as one part
    read_end_ = ends[0];
    write_end_ = ends[1];
    writer_ = std::jthread([this, text = std::move(text), sizes = std::move(part_sizes)] { write_all(text, sizes); });
}

// The reader is gone by now. Once the last read end is closed, a writer that still waits for room gets EPIPE.
Pipe::~Pipe() {
    ::close(read_end_);
    writer_.join();
}

void Pipe::write_all(const std::string& text, const std::vector<std::size_t>& part_sizes) const {
    std::size_t part = 0;
    for (std::size_t i = 0; i < text.size();) {
        const std::size_t size = std::min(part_sizes[std::min(part++, part_sizes.size() - 1)], text.size() - i);
        const ssize_t written = ::write(write_end_, text.data() + i, size);
        if (written <= 0) break;
        i += static_cast<std::size_t>(written);
    }
    ::close(write_end_);
}

bool is_asleep(pid_t thread) {
    std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
    std::string text;
    std::getline(file, text);
    const std::size_t name_end = text.rfind(") ");
    return name_end != std::string::npos && text.substr(name_end + 2).starts_with('S');
}

SilentPipe::SilentPipe() { open_pipe(ends_, 0); }

SilentPipe::~SilentPipe() {
    ::close(ends_[0]);
    ::close(ends_[1]);
}

}  // namespace cleave::test
