// Functions with two bodies, one for the CPU and one for a device, and pages of values that pass through them one by
// one. cleave/experimental/offload.h has graphs of such functions. Knows nothing about CSV.
//
// Bodies must have no side effects: a body may be called again, on parts of its arguments, or not at all.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "cleave/experimental/device.h"
#include "cleave/experimental/machine_profile.h"
#include "cleave/experimental/split_type.h"
#include "cleave/memory.h"

namespace cleave {

// What an annotator knows about a function. Sizes are in bytes, added up over all arguments.
struct Cost {
    // Used until a rate has been measured in this process or is in the machine's profile. DevicePolicy::kAuto does not
    // place a body of unknown rate on the device.
    std::optional<Rate> host = {};
    std::optional<Rate> device = {};
    // The size of the result, given the size of each argument. If absent, the size of the largest argument is used.
    std::function<std::uint64_t(std::span<const std::uint64_t> arguments)> result_bytes = {};
    // The size of each unit that an allocation with `by_parts` creates.
    std::uint64_t unit_bytes = 0;
    // Whether f(a part of x) is that part of f(x), so that the function may run page by page. All arguments whose types
    // can be split are split, and must have the same number of units; those listed in `whole` are not split.
    bool by_parts = false;
    std::vector<std::size_t> whole = {};  // argument numbers, from 0
};

namespace offload {

struct Function {
    std::string name;
    std::function<Value(MemoryManager&, std::span<const void* const>)> host;
    std::function<Value(DeviceStream&, std::span<const void* const>)> device;  // may be empty
    std::vector<const TypeOperations*> arguments;
    const TypeOperations* result = nullptr;
    Cost cost;
    bool is_allocation = false;
    bool has_unit_count = false;  // an allocation whose first argument is the number of units
};

class Core;

}  // namespace offload

template <class T>
class Lazy;

template <class Signature>
class Annotated;

// A function with two bodies; copies are the same function. Any thread may call it.
template <class Result, class... Arguments>
class Annotated<Result(Arguments...)> {
public:
    explicit Annotated(std::shared_ptr<const offload::Function> function) : function_(std::move(function)) {}

    // Adds a node to a graph; computes nothing yet. Requires cleave/experimental/offload.h.
    Lazy<Result> operator()(const Lazy<Arguments>&... arguments) const;

    const std::shared_ptr<const offload::Function>& function() const noexcept { return function_; }

private:
    std::shared_ptr<const offload::Function> function_;
};

namespace offload {

template <class Result, class... Arguments>
struct Maker;

template <class Result, class... Arguments>
struct Maker<Result(Arguments...)> {
    // Calls a body with the stream or the memory manager as its first argument, or without it if the body takes only
    // the arguments.
    template <class Body, class Worker, std::size_t... index>
    static Value call(const Body& body, Worker& worker, std::span<const void* const> given,
                      std::index_sequence<index...> /*numbers*/) {
        if constexpr (std::is_invocable_v<const Body&, Worker&, const Arguments&...>) {
            return make_value(Result(body(worker, as<Arguments>(given[index])...)));
        } else {
            return make_value(Result(body(as<Arguments>(given[index])...)));
        }
    }

    template <class Host, class OnDevice>
    static Annotated<Result(Arguments...)> make(std::string name, Host host, OnDevice device, Cost cost,
                                                bool is_allocation) {
        auto made = std::make_shared<Function>();
        made->name = std::move(name);
        made->host = [host = std::move(host)](MemoryManager& memory, std::span<const void* const> given) {
            return call(host, memory, given, std::index_sequence_for<Arguments...>());
        };
        if constexpr (!std::is_null_pointer_v<OnDevice>) {
            made->device = [device = std::move(device)](DeviceStream& stream, std::span<const void* const> given) {
                return call(device, stream, given, std::index_sequence_for<Arguments...>());
            };
        }
        made->arguments = {&kTypeOperations<Arguments>...};
        made->result = &kTypeOperations<Result>;
        made->cost = std::move(cost);
        made->is_allocation = is_allocation;
        if constexpr (sizeof...(Arguments) > 0) {
            made->has_unit_count =
                is_allocation && std::is_same_v<std::tuple_element_t<0, std::tuple<Arguments...>>, std::uint64_t>;
        }
        return Annotated<Result(Arguments...)>(std::move(made));
    }
};

}  // namespace offload

// Makes one function from two bodies. Signature is RESULT(ARGUMENT...), where all types are value types. The host body
// is called as host(const ARGUMENT&...) or host(MemoryManager&, const ARGUMENT&...), with values on the host. The
// device body is called as device(DeviceStream&, const ARGUMENT&...), with values on the device, and submits its work
// to the stream; pass nullptr if there is none. A value whose type has no SplitType<T>::to is the same in both places.
// `name` appears in profiles and explanations.
template <class Signature, class Host, class OnDevice>
Annotated<Signature> annotate(std::string name, Host host, OnDevice device, Cost cost = {}) {
    return offload::Maker<Signature>::make(std::move(name), std::move(host), std::move(device), std::move(cost), false);
}

// The same for functions that only create a value: they run where the first consumer of the value runs. With
// `by_parts`, the first argument is the number of units, a std::uint64_t, and all units of the result are equal.
template <class Signature, class Host, class OnDevice>
Annotated<Signature> annotate_allocation(std::string name, Host host, OnDevice device, Cost cost = {}) {
    return offload::Maker<Signature>::make(std::move(name), std::move(host), std::move(device), std::move(cost), true);
}

enum class DevicePolicy : std::uint8_t {
    kCpu,   // the device is not touched
    kAuto,  // the device is used if it is predicted to be at least kLeastGain times as fast
    kGpu,   // every function with a device body runs there, or the call fails
};

constexpr double kLeastGain = 1.3;

struct ContextOptions {
    std::shared_ptr<MemoryManager> memory;  // null: a new "system" manager
    std::shared_ptr<Device> device;         // null: none; not allowed with kGpu
    DevicePolicy policy = DevicePolicy::kCpu;
    std::uint64_t device_memory = 0;                    // bytes of its memory that may be used; 0: all
    std::uint64_t page_size = std::uint64_t{32} << 20;  // the most bytes of input in a page
    std::optional<MachineProfile> profile;              // this machine's; without one, kAuto is kCpu
    std::uint32_t memory_flags = 0;                     // for all memory of the runtime: CLEAVE_MEMORY_SECRET
};

// How a function ran in a stream or an evaluation.
struct NodeReport {
    std::string name;
    Side side = Side::kHost;
    std::optional<double> predicted;  // seconds, including transfers of arguments; not set if the rate is unknown
    double taken = 0;  // seconds; on a device, from the start to the end of its body; for stream(), from the first page
                       // to the last result
    std::uint64_t bytes_in = 0;   // transferred to the device for this function
    std::uint64_t bytes_out = 0;  // transferred back to the host, as its arguments or its results
    std::uint64_t pages = 0;      // 0: it ran as a whole
    std::string note;             // "too little memory on the device", or empty
};

// A device with its memory, the rates of functions, and a report on the last run. Any thread may use it; streams of one
// context run one after another. A body must not use the context that calls it: that throws LogicError.
class DeviceContext {
public:
    // Throws ArgumentError, and DeviceError if the device's memory manager cannot be created.
    explicit DeviceContext(const ContextOptions& options);

    // Applies a function to a sequence of values, each a page in host memory, and passes the results to `sink` in
    // order, on the host. Where the function runs is decided at the first value. `next` returns no value at the end. A
    // page that does not fit is split, and its parts are passed on one by one. Throws what bodies, `next` and `sink`
    // throw; DeviceError if the device fails or, with kGpu, if its memory is too small even for the smallest page; and
    // MemoryError.
    template <class Result, class Argument>
    void stream(const Annotated<Result(Argument)>& function, const std::function<std::optional<Argument>()>& next,
                const std::function<void(const Result&)>& sink) {
        stream_values(
            function.function(),
            [&next]() -> offload::Value {
                std::optional<Argument> value = next();
                return value ? offload::make_value(std::move(*value)) : nullptr;
            },
            [&sink](const void* result) { sink(offload::as<Result>(result)); });
    }

    // Pinned host memory for at least `size` bytes of a page; null if none is available. It is reused once the last
    // pointer to it is gone. May be called at any time, even during an evaluation.
    std::shared_ptr<Memory> borrow_pinned(std::size_t size);

    // How the functions of the last stream or evaluation ran, in the order in which they ran.
    std::vector<NodeReport> report() const;
    // The same as a few lines of text, each ending in a line feed.
    std::string explain() const;
    // The profile with the rates of functions, and of transfers from ordinary memory, as measured in this process. Not
    // set if the context has none.
    std::optional<MachineProfile> profile() const;
    // Bytes of device memory in use.
    std::uint64_t device_memory_in_use() const;

protected:
    const std::shared_ptr<offload::Core>& core() const noexcept { return core_; }

private:
    void stream_values(const std::shared_ptr<const offload::Function>& function,
                       const std::function<offload::Value()>& next, const std::function<void(const void*)>& sink);

    std::shared_ptr<offload::Core> core_;
};

}  // namespace cleave
