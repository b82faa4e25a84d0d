#include "column.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "rows/memory/manager_base.h"

namespace cleave {
namespace {

class CountingManager final : public ManagerBase {
public:
    explicit CountingManager(std::shared_ptr<HostCount> count) noexcept
        : ManagerBase("counting", CLEAVE_MEMORY_CAN_HOST), count_(std::move(count)) {}

    int allocate(cleave_memory_space space, std::size_t size, std::size_t alignment, std::uint32_t flags,
                 void* /*stream*/, cleave_memory& memory) noexcept override {
        if (const int error = check_request(space, alignment, flags); error != 0) return error;
        if (space != CLEAVE_MEMORY_HOST) return ENOTSUP;
        const std::size_t held = (std::max<std::size_t>(size, 1) + alignment - 1) / alignment * alignment;
        void* const pointer = std::aligned_alloc(alignment, held);
        if (pointer == nullptr) return ENOMEM;
        count_->alive.fetch_add(1);
        memory = {pointer, size, nullptr};
        return 0;
    }
    int release(const cleave_memory& memory, void* /*stream*/) noexcept override {
        std::memset(memory.pointer, kPoison, memory.size);
        std::free(memory.pointer);  // NOLINT(cppcoreguidelines-no-malloc): from aligned_alloc()
        count_->alive.fetch_sub(1);
        return 0;
    }
    int reset() noexcept override { return ENOTSUP; }

private:
    const std::shared_ptr<HostCount> count_;
};

}  // namespace

std::shared_ptr<MemoryManager> make_counting_manager(std::shared_ptr<HostCount> count) {
    return MemoryManager::adopt((new CountingManager(std::move(count)))->face());
}

Column SplitType<Column>::to(const Column& value, Side side, DeviceStream& stream) {
    if (value.side == side) return value;
    Memory memory = side == Side::kDevice ? stream.allocate(value.bytes()) : stream.allocate_host(value.bytes());
    const Column moved{std::make_shared<Memory>(std::move(memory)), side, 0, value.size()};
    if (side == Side::kDevice) {
        stream.copy_in(moved.numbers(), value.numbers(), value.bytes(), value.is_pinned);
    } else {
        stream.copy_out(moved.numbers(), value.numbers(), value.bytes());
    }
    return moved;
}

Column SplitType<Column>::split(const Column& value, std::uint64_t begin, std::uint64_t end) {
    Column part = value;
    part.begin = value.begin + begin;
    part.end = value.begin + end;
    return part;
}

Column SplitType<Column>::merge(std::span<const Column* const> parts, MemoryManager& memory) {
    std::uint64_t size = 0;
    for (const Column* part : parts) size += part->size();
    const Column merged = make_column(memory, size);
    std::uint64_t* at = merged.numbers();
    for (const Column* part : parts) at = std::copy_n(part->numbers(), part->size(), at);
    return merged;
}

Column make_column(MemoryManager& memory, std::uint64_t size) {
    return {std::make_shared<Memory>(memory.allocate({size * sizeof(std::uint64_t)})), Side::kHost, 0, size};
}

Column make_pinned_column(Context& context, const Numbers& numbers) {
    const Column column{context.borrow_pinned(numbers.size() * sizeof(std::uint64_t)), Side::kHost, 0, numbers.size(),
                        true};
    std::ranges::copy(numbers, column.numbers());
    return column;
}

Column make_column(MemoryManager& memory, const Numbers& numbers) {
    const Column column = make_column(memory, numbers.size());
    std::ranges::copy(numbers, column.numbers());
    return column;
}

Column make_device_column(DeviceStream& stream, std::uint64_t size) {
    return {std::make_shared<Memory>(stream.allocate(size * sizeof(std::uint64_t))), Side::kDevice, 0, size};
}

Numbers numbers_of(const Column& column) { return {column.numbers(), column.numbers() + column.size()}; }

MachineProfile profile_of(const SimulatedOptions& options) {
    MachineProfile profile;
    profile.in = options.in;
    profile.out = options.out;
    profile.ordinary_in = options.ordinary_in.value_or(options.in);
    profile.ordinary_out = options.ordinary_out.value_or(options.out);
    profile.launch = options.launch;
    return profile;
}

Functions::Functions(VirtualClock* clock, std::map<std::string, double> host_seconds,
                     std::map<std::string, double> device_seconds)
    : clock_(clock), host_seconds_(std::move(host_seconds)), device_seconds_(std::move(device_seconds)) {}

Cost Functions::cost(const std::string& name, bool by_parts) const {
    const auto host = host_seconds_.find(name);
    const auto device = device_seconds_.find(name);
    Cost cost;
    cost.host = Rate{0, host != host_seconds_.end() ? host->second : kDefaultHost};
    cost.device = Rate{0, device != device_seconds_.end() ? device->second : SimulatedOptions().body.per_byte};
    cost.by_parts = by_parts;
    return cost;
}

std::function<void(std::uint64_t)> Functions::spend(const std::string& name) const {
    return [clock = clock_, per_byte = cost(name, true).host->per_byte](std::uint64_t bytes) {
        if (clock != nullptr) clock->advance(per_byte * static_cast<double>(bytes));
    };
}

Unary Functions::unary(const std::string& name, std::uint64_t (*function)(std::uint64_t), bool has_device_body,
                       bool by_parts) const {
    const auto host = [function, spend = spend(name)](MemoryManager& memory, const Column& x) {
        const Column made = make_column(memory, x.size());
        std::transform(x.numbers(), x.numbers() + x.size(), made.numbers(), function);
        spend(x.bytes());
        return made;
    };
    if (!has_device_body) return annotate<Column(Column)>(name, host, nullptr, cost(name, by_parts));
    const auto device = [function, name](DeviceStream& stream, const Column& x) {
        const Column made = make_device_column(stream, x.size());
        const auto* const in = x.numbers();
        auto* const out = made.numbers();
        stream.run({name.c_str(), x.bytes()},
                   [in, out, size = x.size(), function](void*) { std::transform(in, in + size, out, function); });
        return made;
    };
    return annotate<Column(Column)>(name, host, device, cost(name, by_parts));
}

Binary Functions::binary(const std::string& name, std::uint64_t (*function)(std::uint64_t, std::uint64_t)) const {
    const auto host = [function, spend = spend(name)](MemoryManager& memory, const Column& x, const Column& y) {
        const Column made = make_column(memory, x.size());
        std::transform(x.numbers(), x.numbers() + x.size(), y.numbers(), made.numbers(), function);
        spend(x.bytes() + y.bytes());
        return made;
    };
    const auto device = [function, name](DeviceStream& stream, const Column& x, const Column& y) {
        const Column made = make_device_column(stream, x.size());
        const auto* const one = x.numbers();
        const auto* const other = y.numbers();
        auto* const out = made.numbers();
        stream.run({name.c_str(), x.bytes() + y.bytes()}, [one, other, out, size = x.size(), function](void*) {
            std::transform(one, one + size, other, out, function);
        });
        return made;
    };
    return annotate<Column(Column, Column)>(name, host, device, cost(name, true));
}

Binary Functions::lookup() const {
    const auto host = [spend = spend("lookup")](MemoryManager& memory, const Column& x, const Column& table) {
        const Column made = make_column(memory, x.size());
        for (std::uint64_t i = 0; i < x.size(); ++i) made.numbers()[i] = table.numbers()[x.numbers()[i] % table.size()];
        spend(x.bytes() + table.bytes());
        return made;
    };
    const auto device = [](DeviceStream& stream, const Column& x, const Column& table) {
        const Column made = make_device_column(stream, x.size());
        stream.run({"lookup", x.bytes() + table.bytes()}, [in = x.numbers(), size = x.size(), entries = table.numbers(),
                                                           count = table.size(), out = made.numbers()](void*) {
            for (std::uint64_t i = 0; i < size; ++i) out[i] = entries[in[i] % count];
        });
        return made;
    };
    Cost its_cost = cost("lookup", true);
    its_cost.whole = {1};
    its_cost.result_bytes = [](std::span<const std::uint64_t> arguments) { return arguments[0]; };
    return annotate<Column(Column, Column)>("lookup", host, device, its_cost);
}

Unary Functions::reversed(bool has_device_body) const {
    const auto host = [spend = spend("reversed")](MemoryManager& memory, const Column& x) {
        const Column made = make_column(memory, x.size());
        std::reverse_copy(x.numbers(), x.numbers() + x.size(), made.numbers());
        spend(x.bytes());
        return made;
    };
    if (!has_device_body) return annotate<Column(Column)>("reversed", host, nullptr, cost("reversed", false));
    const auto device = [](DeviceStream& stream, const Column& x) {
        const Column made = make_device_column(stream, x.size());
        stream.run({"reversed", x.bytes()}, [in = x.numbers(), size = x.size(), out = made.numbers()](void*) {
            std::reverse_copy(in, in + size, out);
        });
        return made;
    };
    return annotate<Column(Column)>("reversed", host, device, cost("reversed", false));
}

Annotated<std::uint64_t(Column)> Functions::sum() const {
    const auto host = [spend = spend("sum")](const Column& x) {
        std::uint64_t sum = 0;
        for (const std::uint64_t number : numbers_of(x)) sum += number;
        spend(x.bytes());
        return sum;
    };
    const auto device = [](DeviceStream& stream, const Column& x) {
        const Column made = make_device_column(stream, 1);
        stream.run({"sum", x.bytes()}, [in = x.numbers(), size = x.size(), out = made.numbers()](void*) {
            *out = 0;
            for (std::uint64_t i = 0; i < size; ++i) *out += in[i];
        });
        std::uint64_t sum = 0;
        stream.copy_out(&sum, made.numbers(), sizeof sum);
        stream.synchronize();
        return sum;
    };
    return annotate<std::uint64_t(Column)>("sum", host, device, cost("sum", false));
}

Annotated<Column(Column, std::uint64_t)> Functions::add_number() const {
    const auto host = [spend = spend("add_number")](MemoryManager& memory, const Column& x, std::uint64_t number) {
        const Column made = make_column(memory, x.size());
        for (std::uint64_t i = 0; i < x.size(); ++i) made.numbers()[i] = x.numbers()[i] + number;
        spend(x.bytes());
        return made;
    };
    const auto device = [](DeviceStream& stream, const Column& x, std::uint64_t number) {
        const Column made = make_device_column(stream, x.size());
        stream.run({"add_number", x.bytes()}, [in = x.numbers(), size = x.size(), out = made.numbers(), number](void*) {
            for (std::uint64_t i = 0; i < size; ++i) out[i] = in[i] + number;
        });
        return made;
    };
    return annotate<Column(Column, std::uint64_t)>("add_number", host, device, cost("add_number", true));
}

Annotated<Column(std::uint64_t, std::uint64_t)> Functions::filled() const {
    const auto host = [](MemoryManager& memory, std::uint64_t size, std::uint64_t number) {
        const Column made = make_column(memory, size);
        std::fill_n(made.numbers(), size, number);
        return made;
    };
    const auto device = [](DeviceStream& stream, std::uint64_t size, std::uint64_t number) {
        const Column made = make_device_column(stream, size);
        stream.run({"filled", 0}, [out = made.numbers(), size, number](void*) { std::fill_n(out, size, number); });
        return made;
    };
    Cost its_cost = cost("filled", true);
    its_cost.unit_bytes = sizeof(std::uint64_t);
    return annotate_allocation<Column(std::uint64_t, std::uint64_t)>("filled", host, device, its_cost);
}

}  // namespace cleave
