// The workloads of examples/offload as somebody would write them for a GPU by hand: the same kernels, called one after
// another, in memory that is allocated once and used again, with copies to and from it.
#pragma once

#include <cuda_runtime.h>

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "device.h"
#include "points.h"

namespace by_hand {

inline void check(cudaError_t error) {
    if (error != cudaSuccess) throw std::runtime_error(std::string("by hand: ") + cudaGetErrorString(error));
}

// A stream, and memory that has been used before. For one thread.
class Card {
public:
    Card() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
    Card(const Card&) = delete;
    Card& operator=(const Card&) = delete;
    ~Card() {
        clear();
        cudaStreamDestroy(stream_);
    }

    static Card& the();

    cudaStream_t stream() const { return stream_; }
    void synchronize() const { check(cudaStreamSynchronize(stream_)); }

    // Memory of the device, or pinned memory of the host. Destroy it before the card.
    template <class T>
    std::shared_ptr<T> take(std::uint64_t size, bool is_pinned = false) {
        std::vector<void*>& free = free_[{size * sizeof(T), is_pinned}];
        if (free.empty()) {
            void* made = nullptr;
            check(is_pinned ? cudaHostAlloc(&made, size * sizeof(T) + 1, cudaHostAllocDefault)
                            : cudaMalloc(&made, size * sizeof(T) + 1));
            free.push_back(made);
        }
        void* const taken = free.back();
        free.pop_back();
        return {static_cast<T*>(taken), [&free](T* used) { free.push_back(used); }};
    }
    void clear() {
        for (auto& [key, free] : free_) {
            for (void* const memory : free) key.second ? cudaFreeHost(memory) : cudaFree(memory);
            free.clear();
        }
    }

private:
    cudaStream_t stream_ = nullptr;
    std::map<std::pair<std::uint64_t, bool>, std::vector<void*>> free_;
};

inline Card& Card::the() {
    static Card card;
    return card;
}

template <class T>
struct Buffer {
    explicit Buffer(std::uint64_t count) : owner(Card::the().take<T>(count)), data(owner.get()), size(count) {}
    explicit Buffer(const numbers::Column<T>& from) : Buffer(from.size) {
        check(cudaMemcpyAsync(data, from.data, from.bytes(), cudaMemcpyHostToDevice, Card::the().stream()));
    }

    // Waits for it.
    numbers::Column<T> to_host() const {
        const std::shared_ptr<T> host = Card::the().take<T>(size, true);
        check(cudaMemcpyAsync(host.get(), data, size * sizeof(T), cudaMemcpyDeviceToHost, Card::the().stream()));
        Card::the().synchronize();
        return {host, host.get(), size, numbers::Place::kPinned};
    }

    std::shared_ptr<T> owner;
    T* data;
    std::uint64_t size;
};

using Numbers = Buffer<double>;
using Flags = Buffer<std::uint8_t>;
using numbers::Operation;

struct Texts {
    explicit Texts(const numbers::Texts& from) : offsets(from.offsets), bytes(from.bytes) {}

    Buffer<std::uint32_t> offsets;
    Buffer<char> bytes;
};

inline Numbers compute(Operation operation, const Numbers& x, const double* y, double number) {
    Numbers made(x.size);
    numbers::device::compute(operation, x.data, y, number, made.data, x.size, Card::the().stream());
    return made;
}
inline Numbers compute(Operation operation, const Numbers& x, const Numbers& y) {
    return compute(operation, x, y.data, 0);
}
inline Numbers compute(Operation operation, const Numbers& x, double y) { return compute(operation, x, nullptr, y); }

inline Numbers full(std::uint64_t size, double value) {
    Numbers made(size);
    numbers::device::fill(value, made.data, size, Card::the().stream());
    return made;
}
inline Numbers log(const Numbers& x) { return compute(Operation::kLog, x, 0); }
inline Numbers exp(const Numbers& x) { return compute(Operation::kExp, x, 0); }
inline Numbers erf(const Numbers& x) { return compute(Operation::kErf, x, 0); }
inline Numbers sin(const Numbers& x) { return compute(Operation::kSin, x, 0); }
inline Numbers cos(const Numbers& x) { return compute(Operation::kCos, x, 0); }
inline Numbers arcsin(const Numbers& x) { return compute(Operation::kArcsin, x, 0); }
inline Numbers sqrt(const Numbers& x) { return compute(Operation::kSqrt, x, 0); }
inline Numbers operator+(const Numbers& x, const auto& y) { return compute(Operation::kAdd, x, y); }
inline Numbers operator-(const Numbers& x, const auto& y) { return compute(Operation::kSubtract, x, y); }
inline Numbers operator*(const Numbers& x, const auto& y) { return compute(Operation::kMultiply, x, y); }
inline Numbers operator/(const Numbers& x, const auto& y) { return compute(Operation::kDivide, x, y); }

inline Flags operator>(const Numbers& x, double limit) {
    Flags made(x.size);
    numbers::device::compare(x.data, true, limit, made.data, x.size, Card::the().stream());
    return made;
}
inline Flags operator<(const Numbers& x, double limit) {
    Flags made(x.size);
    numbers::device::compare(x.data, false, limit, made.data, x.size, Card::the().stream());
    return made;
}
inline Flags operator&(const Flags& x, const Flags& y) {
    Flags made(x.size);
    numbers::device::both(x.data, y.data, made.data, x.size, Card::the().stream());
    return made;
}
inline Flags starts_with(const Texts& texts, const std::string& prefix) {
    Flags made(texts.offsets.size - 1);
    numbers::device::starts_with({texts.offsets.data, texts.bytes.data, 0}, numbers::Prefix(prefix), made.data,
                                 made.size, Card::the().stream());
    return made;
}
inline Numbers filter(const Numbers& x, const Flags& flags) {
    const Buffer<std::uint32_t> counts(numbers::device::counts_size(x.size));
    numbers::device::count(flags.data, counts.data, x.size, Card::the().stream());
    Buffer<std::uint32_t> last = counts;
    last.data += counts.size - 1;
    last.size = 1;
    Numbers made(last.to_host().data[0]);
    numbers::device::keep(x.data, flags.data, counts.data, made.data, x.size, Card::the().stream());
    return made;
}
inline Numbers replace(const Numbers& x, const Flags& flags, double value) {
    Numbers made(x.size);
    numbers::device::replace(x.data, flags.data, value, made.data, x.size, Card::the().stream());
    return made;
}
inline Numbers sum(const Numbers& x) {
    Numbers sums(numbers::device::sums_size(x.size));
    numbers::device::sum(x.data, sums.data, x.size, Card::the().stream());
    sums.size = 1;
    return sums;
}

inline numbers::Labels dbscan(const numbers::Numbers& x, const numbers::Numbers& y, double radius,
                              std::uint32_t least) {
    const numbers::Grid grid = grid_of(x, y, radius);
    const Numbers x_there(grid.x);
    const Numbers y_there(grid.y);
    const Buffer<std::uint32_t> order(grid.order);
    const Buffer<std::uint32_t> starts(grid.starts);
    numbers::GridView view = view_of(grid);
    view.x = x_there.data;
    view.y = y_there.data;
    view.starts = starts.data;
    const Flags core(x.size);
    numbers::device::core_points(view, least, core.data, x.size, Card::the().stream());
    const Buffer<std::uint16_t> links(grid.starts.size - 1);
    numbers::device::find_links(view, core.data, links.data, Card::the().stream());
    const Buffer<std::uint32_t> clusters(join(grid, links.to_host()));
    const Buffer<std::uint32_t> labels(x.size);
    numbers::device::label(view, core.data, clusters.data, order.data, labels.data, x.size, Card::the().stream());
    return labels.to_host();
}

}  // namespace by_hand
