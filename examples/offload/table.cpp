// An annotated library for tables of orders, and a pipeline with a step in the middle that has no device body.
//
//   example_offload_table cpu|gpu|/MODULE.so[:CONFIG] COUNT
//
// Prints the customer and amount, after tax and discount, of the three largest orders, in descending order, and where
// each step ran.
#include <algorithm>
#include <exception>
#include <iostream>
#include <numeric>
#include <string>
#include <vector>

#include "array.h"

namespace {

// Customers stay on the host, because no device body reads them; amounts go where they are needed.
struct Table {
    std::shared_ptr<const std::vector<std::string>> customers;
    Array amounts;
};

}  // namespace

template <>
struct cleave::SplitType<Table> {
    static Side device(const Table& value) { return value.amounts.side; }
    static std::uint64_t bytes(const Table& value) { return value.amounts.bytes(); }
    static Table to(const Table& value, Side side, DeviceStream& stream) {
        return {value.customers, SplitType<Array>::to(value.amounts, side, stream)};
    }
};

namespace {

// NOLINTNEXTLINE(readability-identifier-naming): it is called as a function
const auto scaled = cleave::annotate<Table(Table, double)>(
    "scaled",
    [](cleave::MemoryManager& memory, const Table& table, double factor) {
        Table made{table.customers, Array::on_host(memory, table.amounts.size)};
        std::ranges::transform(table.amounts.numbers(), made.amounts.data(), [&](double x) { return x * factor; });
        return made;
    },
    [](cleave::DeviceStream& stream, const Table& table, double factor) {
        const std::uint64_t size = table.amounts.size;
        const Array factors = Array::on_device(stream, size);
        stream.run({"fill", 0}, [=, to = factors.data()](void* native) { run_fill(factor, to, size, native); });
        return Table{table.customers, element_wise_on_device(stream, Operation::kMultiply, table.amounts, factors)};
    });

// Has no device body, because the names are on the host.
// NOLINTNEXTLINE(readability-identifier-naming): it is called as a function
const auto sorted = cleave::annotate<Table(Table)>(
    "sorted",
    [](cleave::MemoryManager& memory, const Table& table) {
        const std::span<const double> amounts = table.amounts.numbers();
        std::vector<std::size_t> order(amounts.size());
        std::iota(order.begin(), order.end(), 0U);
        std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t i) { return amounts[i]; });
        auto customers = std::make_shared<std::vector<std::string>>();
        Array made = Array::on_host(memory, amounts.size());
        for (std::size_t i = 0; i < order.size(); ++i) {
            customers->push_back((*table.customers)[order[i]]);
            made.data()[i] = amounts[order[i]];
        }
        return Table{std::move(customers), made};
    },
    nullptr);

void run(const std::string& device, std::uint64_t count) {
    cleave::ContextOptions options;
    options.memory = cleave::MemoryManager::open("system");
    if (device != "cpu") {
        options.device = cleave::open_device(device);
        options.policy = cleave::DevicePolicy::kGpu;
    }
    cleave::Context context(options);

    auto customers = std::make_shared<std::vector<std::string>>();
    const Array amounts = Array::on_host(*options.memory, count);
    for (std::uint64_t i = 0; i < count; ++i) {
        customers->push_back("customer " + std::to_string(i));
        amounts.data()[i] = static_cast<double>(i * 7 % count);
    }

    const auto result = scaled(sorted(scaled(Table{customers, amounts}, 1.25)), 0.5);
    context.evaluate(result);
    const Table& table = result.get();
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(3, count); ++i) {
        std::cout << (*table.customers)[i] << ' ' << table.amounts.numbers()[i] << '\n';
    }
    for (const cleave::NodeReport& node : context.report()) {
        std::cout << node.name << (node.side == cleave::Side::kHost ? " host\n" : " device\n");
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        if (argc < 3) throw std::invalid_argument("usage: example_offload_table DEVICE COUNT");
        run(argv[1], std::stoull(argv[2]));
        return 0;
    } catch (const std::exception& error) {
        std::cerr << "example_offload_table: " << error.what() << '\n';
        return 1;
    }
}
