// Functions that have a body for the CPU and one for a device, and a runtime that decides which one runs. Knows no CSV.
//
//   const auto multiply = annotate<Array(Array, Array)>("multiply", multiply_on_cpu, multiply_on_gpu, cost);
//   Context context(options);
//   Lazy<Array> product = multiply(a, square_root(b));  // nothing runs yet
//   context.evaluate(product);
//   use(product.get());
//
// A call makes a node of a graph. evaluate() places each node where the predicted time of the whole is least, moves
// values to where they are needed, cuts into pages what does not fit into the device's memory, and frees each value
// that was not asked for after its last use. doc/devices.md explains how.
//
// Bodies have no side effects: a body may be called again, on parts of its arguments, or not at all.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "cleave/device.h"
#include "cleave/machine_profile.h"
#include "cleave/memory.h"
#include "cleave/split_type.h"

namespace cleave {

// What an annotator knows of a function. Sizes are bytes: those of all arguments, added up.
struct Cost {
    // Until something was measured in this process, or is in the machine's profile. A body of unknown rate is not
    // placed on the device by DevicePolicy::kAuto.
    std::optional<Rate> host = {};
    std::optional<Rate> device = {};
    // Bytes of the result, from the bytes of each argument. If it is absent: those of the largest argument.
    std::function<std::uint64_t(std::span<const std::uint64_t> arguments)> result_bytes = {};
    // Bytes of each unit that an allocation with `by_parts` makes.
    std::uint64_t unit_bytes = 0;
    // Whether f(a part of x) is that part of f(x), so that the function may run page by page. All arguments of types
    // that can be split are split, and have the same number of units; those named in `whole` are not split.
    bool by_parts = false;
    std::vector<std::size_t> whole = {};  // numbers of arguments, from 0
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

// A call or a value. While a context evaluates it, its lock guards the members; `mutex` guards `core`.
struct Node {
    Node() = default;
    Node(const Node&) = delete;
    Node& operator=(const Node&) = delete;
    ~Node();

    std::shared_ptr<Core> core;  // the context that it belongs to, once it was evaluated by one; it outlives the values
    std::shared_ptr<const Function> function;  // null: a value from the start
    std::vector<std::shared_ptr<Node>> arguments;
    const TypeOperations* type = nullptr;
    Value host;
    Value device;
    std::mutex mutex;
};

std::shared_ptr<Node> make_leaf(const TypeOperations& type, Value value);
std::shared_ptr<Node> make_call(std::shared_ptr<const Function> function, std::vector<std::shared_ptr<Node>> arguments);
// Throws as Lazy::get().
const void* host_value(Node& node);

}  // namespace offload

// A value that may not have been computed yet. Copies name the same value.
template <class T>
class Lazy {
public:
    Lazy(T value)  // NOLINT(google-explicit-constructor): so that functions take values and handles alike
        : node_(offload::make_leaf(offload::kTypeOperations<T>, offload::make_value(std::move(value)))) {}

    // The value, on the host; it is moved there if it lies on the device. Valid while a handle of it lives. Throws
    // std::logic_error if it was not evaluated, and what Context::evaluate() throws of devices and memory.
    const T& get() const { return offload::as<T>(offload::host_value(*node_)); }

    const std::shared_ptr<offload::Node>& node() const noexcept { return node_; }

private:
    template <class Signature>
    friend class Annotated;
    explicit Lazy(std::shared_ptr<offload::Node> node) : node_(std::move(node)) {}

    std::shared_ptr<offload::Node> node_;
};

template <class Signature>
class Annotated;

// A lazy function; copies are the same function. Any thread may call it.
template <class Result, class... Arguments>
class Annotated<Result(Arguments...)> {
public:
    explicit Annotated(std::shared_ptr<const offload::Function> function) : function_(std::move(function)) {}

    // Computes nothing.
    Lazy<Result> operator()(const Lazy<Arguments>&... arguments) const {
        return Lazy<Result>(offload::make_call(function_, {arguments.node()...}));
    }

    const std::shared_ptr<const offload::Function>& function() const noexcept { return function_; }

private:
    std::shared_ptr<const offload::Function> function_;
};

namespace offload {

template <class Result, class... Arguments>
struct Maker;

template <class Result, class... Arguments>
struct Maker<Result(Arguments...)> {
    // Calls a body with the stream or the memory manager first, or without if it takes only arguments.
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

// Makes one lazy function of two bodies. Signature is RESULT(ARGUMENT...), all of them types of values. The host body
// is called as host(const ARGUMENT&...) or host(MemoryManager&, const ARGUMENT&...), and gets values on the host. The
// device body is called as device(DeviceStream&, const ARGUMENT&...), gets values on the device, and submits its work
// to the stream; nullptr if there is none. A value of a type without SplitType<T>::to is the same at both places.
// `name` is that in profiles and explanations.
template <class Signature, class Host, class OnDevice>
Annotated<Signature> annotate(std::string name, Host host, OnDevice device, Cost cost = {}) {
    return offload::Maker<Signature>::make(std::move(name), std::move(host), std::move(device), std::move(cost), false);
}

// The same for functions that only make a value: they run where the first consumer of the value runs. One with
// `by_parts` has the number of units as its first argument, a std::uint64_t, and makes equal units.
template <class Signature, class Host, class OnDevice>
Annotated<Signature> annotate_allocation(std::string name, Host host, OnDevice device, Cost cost = {}) {
    return offload::Maker<Signature>::make(std::move(name), std::move(host), std::move(device), std::move(cost), true);
}

enum class DevicePolicy : std::uint8_t {
    kCpu,   // the device is not touched
    kAuto,  // the device is taken if that is predicted to be kLeastGain times as fast
    kGpu,   // each function that has a device body runs there, or it is an error
};

constexpr double kLeastGain = 1.3;

class Clock;

struct ContextOptions {
    std::shared_ptr<MemoryManager> memory;  // null: a new manager "system"
    std::shared_ptr<Device> device;         // null: none; not allowed with kGpu
    DevicePolicy policy = DevicePolicy::kCpu;
    std::uint64_t device_memory = 0;                    // bytes that may be used of it; 0: all
    std::uint64_t page_size = std::uint64_t{32} << 20;  // bytes of input that a page has at most
    std::optional<MachineProfile> profile;              // of this machine; without one, kAuto is kCpu
    std::uint32_t memory_flags = 0;                     // for all memory of the runtime: CLEAVE_MEMORY_SECRET
};

// What became of a function in an evaluation.
struct NodeReport {
    std::string name;
    Side side = Side::kHost;
    std::optional<double> predicted;  // seconds, moves of arguments included; nothing if its rate is unknown
    double taken = 0;                 // seconds; of a device, the time between the start and the end of its body; of
                                      // stream(), from the first page to the last result
    std::uint64_t bytes_in = 0;       // moved to the device, for it
    std::uint64_t bytes_out = 0;      // moved back, for it or from it
    std::uint64_t pages = 0;          // 0: it ran as a whole
    std::string note;                 // "too little memory on the device", or empty
};

// Evaluates graphs. Any thread may use it; evaluations of one context run one after another. A body must not evaluate
// anything in the context that calls it: that throws std::logic_error. Values that were evaluated keep the context's
// device and memory manager alive.
class Context {
public:
    // Throws std::invalid_argument, and DeviceError if the device's memory manager cannot be made.
    explicit Context(const ContextOptions& options);

    // Computes the values, and keeps them where they were computed. Other values of the graph are freed after their
    // last use, and would be computed again. If it throws, no memory stays and every value is as it was. Throws what
    // bodies throw; DeviceError if the device fails, and, with kGpu, if its memory is too small even for the smallest
    // page; MemoryError; std::invalid_argument for a graph that belongs to another context.
    template <class... T>
    void evaluate(const Lazy<T>&... handles) {
        evaluate_nodes({handles.node()...});
    }

    // evaluate(), then Lazy::get().
    template <class T>
    const T& get(const Lazy<T>& handle) {
        evaluate(handle);
        return handle.get();
    }

    // Applies a function to a sequence of values, each of which is a page in memory of the host, and hands over the
    // results in order, on the host. Where they run is decided with the first value. `next` returns nothing at the end.
    // If a page does not fit it is split, and its parts are handed over one by one. Throws as evaluate(), and what
    // `next` and `sink` throw.
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

    // Pinned memory of the host for at least `size` bytes of a page. It is used again when the last pointer is gone.
    // Null if there is none. Any time, also during an evaluation.
    std::shared_ptr<Memory> borrow_pinned(std::size_t size);

    // Of the last evaluation, in the order in which the functions ran.
    std::vector<NodeReport> report() const;
    // The same in a few lines of text, each with a line feed.
    std::string explain() const;
    // The profile with the rates that were measured in this process. Nothing if the context has none.
    std::optional<MachineProfile> profile() const;
    // Bytes of the device in use.
    std::uint64_t device_memory_in_use() const;

private:
    void evaluate_nodes(std::initializer_list<std::shared_ptr<offload::Node>> nodes);
    void stream_values(const std::shared_ptr<const offload::Function>& function,
                       const std::function<offload::Value()>& next, const std::function<void(const void*)>& sink);

    std::shared_ptr<offload::Core> core_;
};

}  // namespace cleave
