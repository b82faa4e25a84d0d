// Memory with an unreadable page on either side: code that reads past its input crashes.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <system_error>

namespace cleave::test {

class GuardedMemory {
public:
    // Maps `pages` pages. Throws std::system_error.
    explicit GuardedMemory(std::size_t pages = 1)
        : page_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))), size_(pages * page_) {
        void* address = ::mmap(nullptr, size_ + 2 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (address == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
        all_ = static_cast<char*>(address);
        if (::mprotect(all_ + page_, size_, PROT_READ | PROT_WRITE) != 0) {
            throw std::system_error(errno, std::generic_category(), "mprotect");
        }
    }
    GuardedMemory(const GuardedMemory&) = delete;
    GuardedMemory& operator=(const GuardedMemory&) = delete;
    ~GuardedMemory() { ::munmap(all_, size_ + 2 * page_); }

    // Copies the text to the first readable byte, to any byte, or up to the last one. Text and offset must fit the
    // pages; copies may overwrite each other.
    std::string_view at_front(std::string_view text) { return at(text, 0); }
    std::string_view at(std::string_view text, std::size_t offset) {
        std::ranges::copy(text, all_ + page_ + offset);
        return {all_ + page_ + offset, text.size()};
    }
    std::string_view at_back(std::string_view text) { return at(text, size_ - text.size()); }

private:
    std::size_t page_;
    std::size_t size_;
    char* all_;
};

}  // namespace cleave::test
