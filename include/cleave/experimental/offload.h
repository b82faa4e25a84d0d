// Graphs of functions with two bodies, one for the CPU and one for a device, and a runtime that decides which one runs.
// Knows nothing about CSV. Programs that use this header link with cleave::offload in CMake, or with cleave-offload
// through pkg-config.
//
//   const auto multiply = annotate<Array(Array, Array)>("multiply", multiply_on_cpu, multiply_on_gpu, cost);
//   Context context(options);
//   Lazy<Array> product = multiply(a, square_root(b));  // nothing runs yet
//   context.evaluate(product);
//   use(product.get());
//
// A call adds a node to a graph. evaluate() places each node so that the predicted total time is least, moves values to
// where they are needed, processes what does not fit into the device's memory in pages, and frees each value that was
// not asked for after its last use. doc/guide/devices.md explains how.
#pragma once

#include <initializer_list>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "cleave/experimental/device_context.h"

namespace cleave {
namespace offload {

// A call or a value. While a context evaluates it, that context's lock guards the members; `mutex` guards `core`.
struct Node {
    Node() = default;
    Node(const Node&) = delete;
    Node& operator=(const Node&) = delete;
    ~Node();

    std::shared_ptr<Core> core;                // the context that evaluated it, if any; it outlives the values
    std::shared_ptr<const Function> function;  // null: the node was created as a value
    std::vector<std::shared_ptr<Node>> arguments;
    const TypeOperations* type = nullptr;
    Value host;
    Value device;
    std::mutex mutex;
};

std::shared_ptr<Node> make_leaf(const TypeOperations& type, Value value);
std::shared_ptr<Node> make_call(std::shared_ptr<const Function> function, std::vector<std::shared_ptr<Node>> arguments);
// Throws what Lazy::get() throws.
const void* host_value(Node& node);

}  // namespace offload

// A value that may not have been computed yet. Copies refer to the same value.
template <class T>
class Lazy {
public:
    Lazy(T value)  // NOLINT(google-explicit-constructor): so that functions take both values and handles
        : node_(offload::make_leaf(offload::kTypeOperations<T>, offload::make_value(std::move(value)))) {}

    // The value, on the host; it is transferred there if it is on the device. Valid for as long as a handle to it
    // exists. Throws LogicError if it has not been evaluated, and DeviceError and MemoryError as
    // Context::evaluate() does.
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
// anything in the context that calls it: that throws LogicError. Evaluated values keep the context's device and
// memory manager alive.
class Context final : public DeviceContext {
public:
    using DeviceContext::DeviceContext;

    // Computes the values, and keeps them where they were computed. Other values of the graph are freed after their
    // last use, and would have to be computed again. If it throws, it keeps no memory and leaves every value as it was.
    // Throws what bodies throw; DeviceError if the device fails or, with kGpu, if its memory is too small even for the
    // smallest page; MemoryError; and ArgumentError for a graph that belongs to a different context.
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
