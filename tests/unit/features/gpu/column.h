// Values and functions for tests of the runtime: columns of numbers, on the host or on a device.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "cleave/experimental/offload.h"
#include "simulated_device.h"

namespace cleave {

// A range of the numbers in a block of memory. Copies are views of the same block.
struct Column {
    std::shared_ptr<Memory> memory;
    Side side = Side::kHost;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    bool is_pinned = false;

    std::uint64_t size() const { return end - begin; }
    std::uint64_t bytes() const { return size() * sizeof(std::uint64_t); }
    std::uint64_t* numbers() const { return reinterpret_cast<std::uint64_t*>(memory->data()) + begin; }
};

template <>
struct SplitType<Column> {
    static Side device(const Column& value) { return value.side; }
    static Column to(const Column& value, Side side, DeviceStream& stream);
    static std::uint64_t bytes(const Column& value) { return value.bytes(); }
    static bool is_pinned(const Column& value) { return value.is_pinned; }
    static std::uint64_t size(const Column& value) { return value.size(); }
    static Column split(const Column& value, std::uint64_t begin, std::uint64_t end);
    static Column merge(std::span<const Column* const> parts, MemoryManager& memory);
};

Column make_column(MemoryManager& memory, std::uint64_t size);
Column make_column(MemoryManager& memory, const std::vector<std::uint64_t>& numbers);
// In pinned memory of the context's device.
Column make_pinned_column(Context& context, const std::vector<std::uint64_t>& numbers);
Column make_device_column(DeviceStream& stream, std::uint64_t size);
std::vector<std::uint64_t> numbers_of(const Column& column);

using Numbers = std::vector<std::uint64_t>;
using Unary = Annotated<Column(Column)>;
using Binary = Annotated<Column(Column, Column)>;

// Functions on columns. Host bodies move the clock by host_seconds[name] per byte, or kDefaultHost.
class Functions {
public:
    static constexpr double kDefaultHost = 1e-9;

    // `clock` may be null, and must outlive the functions.
    explicit Functions(VirtualClock* clock, std::map<std::string, double> host_seconds = {},
                       std::map<std::string, double> device_seconds = {});

    Unary unary(const std::string& name, std::uint64_t (*function)(std::uint64_t), bool has_device_body = true,
                bool by_parts = true) const;
    Binary binary(const std::string& name, std::uint64_t (*function)(std::uint64_t, std::uint64_t)) const;
    // table[x mod the table's size] for each x; the table is needed in full.
    Binary lookup() const;
    // Cannot be split into parts: each number is swapped with its counterpart at the other end.
    Unary reversed(bool has_device_body) const;
    // Returns a number, not a column.
    Annotated<std::uint64_t(Column)> sum() const;
    Annotated<Column(Column, std::uint64_t)> add_number() const;
    // A column of the given size that repeats one number.
    Annotated<Column(std::uint64_t, std::uint64_t)> filled() const;

private:
    Cost cost(const std::string& name, bool by_parts) const;
    std::function<void(std::uint64_t bytes)> spend(const std::string& name) const;

    VirtualClock* clock_;
    std::map<std::string, double> host_seconds_;
    std::map<std::string, double> device_seconds_;
};

// Counts for a host memory manager, for adopt().
struct HostCount {
    std::atomic<std::int64_t> alive{0};
};
std::shared_ptr<MemoryManager> make_counting_manager(std::shared_ptr<HostCount> count);

// A profile of a machine with this device.
MachineProfile profile_of(const SimulatedOptions& options);

}  // namespace cleave
