#include "rows/memory/system_manager.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace cleave {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr int kHugePageOf2MiB = 21 << 26;  // MAP_HUGE_2MB of linux/mman.h

std::size_t small_page() noexcept {
    static const auto kSize = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    return kSize;
}

// Returns 0 if the result would overflow.
std::size_t round_up(std::size_t size, std::size_t unit) noexcept {
    return size > SIZE_MAX - (unit - 1) ? 0 : (size + unit - 1) / unit * unit;
}

// Zeroes whole pages. A buffer for a long record may be much larger than what is written to it, and zeroing the rest
// would take memory for it. Reading it does not.
void wipe_pages(std::uint8_t* begin, std::size_t size) noexcept {
    constexpr std::size_t kFew = std::size_t{1} << 20;
    if (size <= kFew) return ::explicit_bzero(begin, size);
    for (std::uint8_t* const end = begin + size; begin != end; begin += small_page()) {
        const bool is_zero = *begin == 0 && std::memcmp(begin, begin + 1, small_page() - 1) == 0;
        if (!is_zero) ::explicit_bzero(begin, small_page());
    }
}

}  // namespace

SystemManager::SystemManager(Pages pages) noexcept
    : ManagerBase(pages == Pages::kSmall ? "system" : "huge",
                  CLEAVE_MEMORY_CAN_HOST | CLEAVE_MEMORY_CAN_INFO | CLEAVE_MEMORY_CAN_DEFER | CLEAVE_MEMORY_CAN_SECRET),
      pages_(pages) {}

SystemManager::~SystemManager() { reset(); }

// Allocates block.held bytes.
bool SystemManager::fill(Block& block, std::size_t alignment, std::uint32_t flags) const noexcept {
    if (block.held == 0) return true;
    if (!block.is_of_heap) return map(block, alignment, flags);
    block.begin = static_cast<std::uint8_t*>(std::aligned_alloc(alignment, block.held));
    if (block.begin == nullptr) return false;
    if ((flags & CLEAVE_MEMORY_ZEROED) != 0) std::memset(block.begin, 0, block.held);
    return true;
}

// Maps block.held bytes at a multiple of `alignment`, by mapping more and giving the excess back.
bool SystemManager::map(Block& block, std::size_t alignment, std::uint32_t flags) const noexcept {
    const bool is_reserved = pages_ == Pages::kReservedHuge;
    const bool wants_huge = pages_ == Pages::kTransparentHuge || (flags & CLEAVE_MEMORY_HUGE) != 0;
    if (wants_huge && block.held >= kHugePage) alignment = std::max(alignment, kHugePage);
    const std::size_t extra = alignment > (is_reserved ? kHugePage : small_page()) ? alignment : 0;
    if (block.held > SIZE_MAX / 4 || extra > SIZE_MAX / 4) return false;
    const std::size_t size = block.held + extra;
    const int how = MAP_PRIVATE | MAP_ANONYMOUS | (is_reserved ? MAP_HUGETLB | kHugePageOf2MiB : 0);
    void* const mapped = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, how, -1, 0);
    if (mapped == MAP_FAILED) return false;
    auto* const begin = static_cast<std::uint8_t*>(mapped);
    block.begin = begin;
    if (extra > 0) {
        const std::size_t before = (alignment - reinterpret_cast<std::uintptr_t>(begin) % alignment) % alignment;
        if (before > 0) ::munmap(begin, before);
        block.begin = begin + before;
        ::munmap(block.begin + block.held, extra - before);
    }
    if (wants_huge && !is_reserved) ::madvise(block.begin, block.held, MADV_HUGEPAGE);
    if (block.is_secret) ::madvise(block.begin, block.held, MADV_DONTDUMP);  // the command is not dumpable anyway
    return true;
}

int SystemManager::allocate(cleave_memory_space space, std::size_t size, std::size_t alignment, std::uint32_t flags,
                            void* /*stream*/, cleave_memory& memory) noexcept {
    if (const int error = check_request(space, alignment, flags); error != 0) return error;
    if (space != CLEAVE_MEMORY_HOST) return ENOTSUP;
    const bool is_secret = (flags & CLEAVE_MEMORY_SECRET) != 0;
    const bool is_of_heap = pages_ == Pages::kSmall && !is_secret && std::max(size, alignment) < small_page() / 2;
    const std::size_t unit = is_of_heap ? alignment : pages_ == Pages::kReservedHuge ? kHugePage : small_page();
    const std::size_t held = round_up(size, unit);
    if (held < size) return ENOMEM;
    auto* const block = new (std::nothrow) Block{};
    if (block == nullptr) return ENOMEM;
    block->held = held;
    block->is_of_heap = is_of_heap;
    block->is_secret = is_secret;

    const MutexLock lock(mutex_);
    if (!fill(*block, alignment, flags)) {
        const bool is_worth_another_try = !pending_.is_empty();
        flush();
        if (!is_worth_another_try || !fill(*block, alignment, flags)) {
            delete block;
            return ENOMEM;
        }
    }
    block->next = first_;
    if (first_ != nullptr) first_->previous = block;
    first_ = block;
    held_ += held;
    memory = {block->begin, held, block};
    return 0;
}

int SystemManager::release(const cleave_memory& memory, void* /*stream*/) noexcept {
    auto& block = *static_cast<Block*>(memory.handle);
    if (block.is_secret && block.held > 0) wipe_pages(block.begin, block.held);
    const MutexLock lock(mutex_);
    pending_.add(block);
    flush_if_due();
    return 0;
}

void SystemManager::flush() noexcept {
    pending_.flush([&](Block& block) {
        mutex_.assert_held();
        give_back(block);
    });
}

void SystemManager::flush_if_due() noexcept {
    if (pending_.is_due(held_)) flush();
}

void SystemManager::give_back(Block& block) noexcept {
    if (block.is_of_heap) {
        std::free(block.begin);  // NOLINT(cppcoreguidelines-no-malloc,cppcoreguidelines-owning-memory): C's
    } else if (block.held > 0) {
        ::munmap(block.begin, block.held);
    }
    held_ -= block.held;
    if (block.previous != nullptr) block.previous->next = block.next;
    if (block.next != nullptr) block.next->previous = block.previous;
    if (first_ == &block) first_ = block.next;
    delete &block;
}

// Reports the memory that no process uses. Ignores the limits of control groups.
int SystemManager::info(cleave_memory_space space, std::uint64_t& free_size, std::uint64_t& total_size) noexcept {
    if (space != CLEAVE_MEMORY_HOST) return ENOTSUP;
    free_size = static_cast<std::uint64_t>(::sysconf(_SC_AVPHYS_PAGES)) * small_page();
    total_size = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * small_page();
    return 0;
}

int SystemManager::defer_cleanup_begin() noexcept {
    const MutexLock lock(mutex_);
    pending_.begin();
    return 0;
}

int SystemManager::defer_cleanup_end() noexcept {
    const MutexLock lock(mutex_);
    if (!pending_.end()) return EINVAL;
    flush_if_due();
    return 0;
}

int SystemManager::reset() noexcept {
    const MutexLock lock(mutex_);
    pending_.flush([](Block&) {});  // the blocks are also in the list of all blocks
    while (first_ != nullptr) {
        if (first_->is_secret && first_->held > 0) ::explicit_bzero(first_->begin, first_->held);
        give_back(*first_);
    }
    return 0;
}

}  // namespace cleave
