// The nodes of a graph, and how their values reach the user.
#include <tuple>
#include <utility>

#include "cleave/error.h"
#include "cleave/experimental/offload.h"
#include "features/gpu/core.h"

namespace cleave::offload {

// A long chain of nodes is taken apart link by link, because recursive destruction would overflow the stack.
Node::~Node() {
    std::vector<std::shared_ptr<Node>> last_references = std::move(arguments);
    while (!last_references.empty()) {
        const std::shared_ptr<Node> node = std::move(last_references.back());
        last_references.pop_back();
        if (node.use_count() != 1) continue;
        for (std::shared_ptr<Node>& argument : node->arguments) last_references.push_back(std::move(argument));
        node->arguments.clear();
    }
}

std::shared_ptr<Node> make_leaf(const TypeOperations& type, Value value) {
    auto node = std::make_shared<Node>();
    node->type = &type;
    const bool is_on_device = type.can_move && type.side(value.get()) == Side::kDevice;
    (is_on_device ? node->device : node->host) = std::move(value);
    return node;
}

std::shared_ptr<Node> make_call(std::shared_ptr<const Function> function,
                                std::vector<std::shared_ptr<Node>> arguments) {
    auto node = std::make_shared<Node>();
    node->type = function->result;
    node->function = std::move(function);
    node->arguments = std::move(arguments);
    return node;
}

const void* host_value(Node& node) {
    std::shared_ptr<Core> core;
    {
        const std::scoped_lock lock(node.mutex);
        core = node.core;
        // Without a context, only evaluate() changes the node, and it takes this lock first.
        if (!core && node.host) return node.host.get();
        if (!core && node.function) throw LogicError("offload: the value was not evaluated");
    }
    if (!core) throw LogicError("offload: the value lies on a device, and no context has used it");
    const Core::Use use(*core);
    if (!node.host && !node.device) throw LogicError("offload: the value was not evaluated");
    if (!node.host) {
        DeviceStream& stream = core->stream();
        Value moved = node.type->to(node.device.get(), Side::kHost, stream);
        try {
            stream.synchronize();
        } catch (const DeviceError&) {
            std::ignore = core->options.device->synchronize(stream.native());  // before its memory is released
            throw;
        }
        node.host = std::move(moved);
    }
    return node.host.get();
}

}  // namespace cleave::offload
