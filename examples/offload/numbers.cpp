#include "numbers.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <new>

#include "parallel.h"

namespace numbers {
namespace {

// Keeps large blocks for later columns of the same size, because the system takes longer to clear new memory than a
// loop takes to fill it.
class Blocks {
public:
    Blocks() = default;
    Blocks(const Blocks&) = delete;
    Blocks& operator=(const Blocks&) = delete;
    ~Blocks() {
        for (const auto& [size, block] : free_) ::operator delete(block, alignment_of(size));
    }

    void* take(std::uint64_t size) {
        {
            const std::scoped_lock lock(mutex_);
            if (const auto found = free_.find(size); found != free_.end()) {
                void* const block = found->second;
                free_.erase(found);
                return block;
            }
        }
        void* const block = ::operator new(size, alignment_of(size));
        if (size >= kLarge) ::madvise(block, size, MADV_HUGEPAGE);
        return block;
    }
    void put_back(std::uint64_t size, void* block) {
        const std::scoped_lock lock(mutex_);
        if (size < kLarge || free_.size() == kMostFree) return ::operator delete(block, alignment_of(size));
        free_.emplace(size, block);
    }

private:
    static constexpr std::uint64_t kLarge = std::uint64_t{1} << 20;
    static constexpr std::size_t kMostFree = 64;

    static std::align_val_t alignment_of(std::uint64_t size) {
        constexpr std::size_t kHugePage = std::size_t{2} << 20;
        return std::align_val_t{size < kLarge ? 64 : kHugePage};
    }

    std::mutex mutex_;
    std::multimap<std::uint64_t, void*> free_;
};

VECTORS void compute_part(Operation operation, const double* x, const double* y, double* out, std::uint64_t size) {
    with_operation(operation, [=](auto function) {
        for (std::uint64_t i = 0; i < size; ++i) out[i] = function(x[i], y[i]);
    });
}

VECTORS void compute_part(Operation operation, const double* x, double y, double* out, std::uint64_t size) {
    with_operation(operation, [=](auto function) {
        for (std::uint64_t i = 0; i < size; ++i) out[i] = function(x[i], y);
    });
}

}  // namespace

std::shared_ptr<void> allocate_bytes(std::uint64_t size) {
    static const auto kBlocks = std::make_shared<Blocks>();
    return {kBlocks->take(size), [size, kept = kBlocks](void* block) { kept->put_back(size, block); }};
}

void copy_bytes(void* to, const void* from, std::uint64_t size) {
    in_parallel(size, [=](std::uint64_t begin, std::uint64_t end) {
        std::memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin, end - begin);
    });
}

Numbers full(std::uint64_t size, double value) {
    Numbers made = make_column<double>(size);
    in_parallel(size,
                [&](std::uint64_t begin, std::uint64_t end) { std::fill(made.data + begin, made.data + end, value); });
    return made;
}

Numbers compute(Operation operation, const Numbers& x, const Numbers& y) {
    Numbers made = make_column<double>(x.size);
    in_parallel(x.size, [&](std::uint64_t begin, std::uint64_t end) {
        compute_part(operation, x.data + begin, y.data + begin, made.data + begin, end - begin);
    });
    return made;
}

Numbers compute(Operation operation, const Numbers& x, double y) {
    Numbers made = make_column<double>(x.size);
    in_parallel(x.size, [&](std::uint64_t begin, std::uint64_t end) {
        compute_part(operation, x.data + begin, y, made.data + begin, end - begin);
    });
    return made;
}

}  // namespace numbers
