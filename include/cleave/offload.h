// Graphs of functions that have a body for the CPU and one for a device, and a runtime that decides which one runs.
// Knows no CSV. Programs that use this link with cleave::offload of CMake, or cleave-offload of pkg-config.
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
#pragma once

#include <initializer_list>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "cleave/device_context.h"

namespace cleave {
namespace offload {

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

template <class Result, class... Arguments>
Lazy<Result> Annotated<Result(Arguments...)>::operator()(const Lazy<Arguments>&... arguments) const {
    return Lazy<Result>(offload::make_call(function_, {arguments.node()...}));
}

// Evaluates graphs. Any thread may use it; evaluations of one context run one after another. A body must not evaluate
// anything in the context that calls it: that throws std::logic_error. Values that were evaluated keep the context's
// device and memory manager alive.
class Context final : public DeviceContext {
public:
    using DeviceContext::DeviceContext;

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

private:
    void evaluate_nodes(std::initializer_list<std::shared_ptr<offload::Node>> nodes);
};

}  // namespace cleave
