// A stage as an annotated function of the offload runtime: its CPU body is StageWorker, and its device body calls the
// entry of features/gpu/lane/device_stage.h.
#pragma once

#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cleave/experimental/offload.h"
#include "cleave/kernel.h"
#include "cleave/stage.h"
#include "features/gpu/device.h"
#include "features/gpu/lane/device_stage.h"
#include "features/redact/stage/flatten.h"

namespace cleave {

using SharedMemory = std::shared_ptr<Memory>;

inline SharedMemory share(Memory memory) { return std::make_shared<Memory>(std::move(memory)); }

// Whole records. Parts share the same memory.
struct Records {
    SharedMemory memory;
    Side side = Side::kHost;
    std::uint64_t begin = 0;  // in the memory, in bytes
    std::uint64_t size = 0;
    std::vector<std::uint64_t> starts;  // where each record starts in the memory, and the end of the last

    const std::uint8_t* data() const { return memory->data() + begin; }
    std::span<const std::uint8_t> bytes() const { return {data(), size}; }
};

// The records after rewriting.
struct Rewritten {
    SharedMemory bytes;
    SharedMemory starts;  // std::uint32_t each, and the end of the last
    std::uint64_t size = 0;
    std::uint64_t count = 0;
    std::vector<std::uint64_t> counters;
    Side side = Side::kHost;

    const std::uint32_t* start_data() const { return reinterpret_cast<const std::uint32_t*>(starts->data()); }
    bool operator==(const Rewritten& other) const {
        return text() == other.text() && counters == other.counters && count == other.count &&
               std::memcmp(start_data(), other.start_data(), (count + 1) * sizeof(std::uint32_t)) == 0;
    }
    std::string text() const { return size > 0 ? std::string(bytes->data(), bytes->data() + size) : std::string(); }
};

template <>
struct SplitType<Records> {
    static Side device(const Records& value) { return value.side; }
    static Records to(const Records& value, Side side, DeviceStream& stream) {
        if (side == Side::kHost) throw std::logic_error("records are not moved back");
        Memory memory = stream.allocate((value.size + 63) / 64 * 64);
        stream.copy_in(memory.data(), value.data(), value.size);
        return {share(std::move(memory)), side, 0, value.size, {}};
    }
    static std::uint64_t bytes(const Records& value) { return value.size; }
    static std::uint64_t size(const Records& value) { return value.starts.size() - 1; }
    static Records split(const Records& value, std::uint64_t begin, std::uint64_t end) {
        const auto first = value.starts.begin() + static_cast<std::ptrdiff_t>(begin);
        const std::vector<std::uint64_t> starts(first, first + static_cast<std::ptrdiff_t>(end - begin + 1));
        return {value.memory, value.side, starts.front(), starts.back() - starts.front(), starts};
    }
    static Records merge(std::span<const Records* const>, MemoryManager&) {
        throw std::logic_error("records are not merged");
    }
};

template <>
struct SplitType<Rewritten> {
    static Side device(const Rewritten& value) { return value.side; }
    static Rewritten to(const Rewritten& value, Side side, DeviceStream& stream) {
        if (side == Side::kDevice) throw std::logic_error("results are not moved to the device");
        if (value.side == side) return value;  // from an odd page
        Rewritten made = value;
        made.side = side;
        const std::uint64_t starts_size = (value.count + 1) * sizeof(std::uint32_t);
        made.bytes = share(stream.allocate_host(value.size));
        made.starts = share(stream.allocate_host(starts_size));
        if (value.size > 0) stream.copy_out(made.bytes->data(), value.bytes->data(), value.size);
        stream.copy_out(made.starts->data(), value.starts->data(), starts_size);
        return made;
    }
    static std::uint64_t bytes(const Rewritten& value) {
        return value.size + (value.count + 1) * sizeof(std::uint32_t);
    }
    static std::uint64_t size(const Rewritten& value) { return value.count; }
    static Rewritten split(const Rewritten&, std::uint64_t, std::uint64_t) {
        throw std::logic_error("results are not split");
    }
    static Rewritten merge(std::span<const Rewritten* const> parts, MemoryManager& memory) {
        Rewritten made;
        for (const Rewritten* part : parts) {
            made.size += part->size;
            made.count += part->count;
        }
        made.bytes = share(memory.allocate({made.size}));
        made.starts = share(memory.allocate({(made.count + 1) * sizeof(std::uint32_t)}));
        auto* start = reinterpret_cast<std::uint32_t*>(made.starts->data());
        std::uint32_t at = 0;
        made.counters.resize(parts.front()->counters.size());
        for (const Rewritten* part : parts) {
            if (part->size > 0) std::memcpy(made.bytes->data() + at, part->bytes->data(), part->size);
            for (std::uint64_t i = 0; i < part->count; ++i) *start++ = at + part->start_data()[i];
            for (std::size_t i = 0; i < made.counters.size(); ++i) made.counters[i] += part->counters[i];
            at += static_cast<std::uint32_t>(part->size);
        }
        *start = at;
        return made;
    }
};

// Rewrites on the CPU. Throws InputError.
inline Rewritten stage_on_host(const Stage& stage, MemoryManager& memory, std::span<const std::uint8_t> bytes) {
    StageWorker worker(stage, default_kernel());
    worker.clear();
    worker.write(worker.read(bytes, {}, true));
    Rewritten made;
    made.size = worker.written().size();
    made.count = worker.starts().size();
    made.bytes = share(memory.allocate({made.size}));
    made.starts = share(memory.allocate({(made.count + 1) * sizeof(std::uint32_t)}));
    if (made.size > 0) std::memcpy(made.bytes->data(), worker.written().data(), made.size);
    auto* start = reinterpret_cast<std::uint32_t*>(made.starts->data());
    for (const std::uint64_t one : worker.starts()) *start++ = static_cast<std::uint32_t>(one);
    *start = static_cast<std::uint32_t>(made.size);
    const StageCounts& counts = worker.counts();
    made.counters = {counts.records, counts.empty_records};
    for (const RuleCounts& rule : counts.rules) {
        made.counters.insert(made.counters.end(),
                             {rule.seen, rule.changed, rule.kept, rule.empty, rule.condition_false});
    }
    return made;
}

inline void throw_if_failed(const cleave_device_status& given) {
    const DeviceStatus status(given);
    if (!status.is_good()) throw DeviceError(status.fault(), status.text());
}

// A stage on a device.
class DeviceStageOwner {
public:
    // Precondition: the stage has a flat program. Throws DeviceError.
    DeviceStageOwner(const std::shared_ptr<Device>& device, const Stage& stage)
        : entry_(static_cast<const DeviceStageEntry*>(device->entry(kDeviceStageEntry))) {
        const SecretMemory flat = *flat_for_device(stage);
        const DeviceStageProgram program{flat.bytes().data(), flat.bytes().size(), *parse_markup(stage.dialect())};
        throw_if_failed(entry_->open(&device->face(), &program, &state_));
    }
    DeviceStageOwner(const DeviceStageOwner&) = delete;
    DeviceStageOwner& operator=(const DeviceStageOwner&) = delete;
    ~DeviceStageOwner() { entry_->close(state_); }

    // std::nullopt if the page is odd.
    std::optional<Rewritten> run(DeviceStream& stream, const Records& records) {
        struct Call {
            DeviceStream& stream;
            std::vector<SharedMemory> given;
            cleave_device_status status{};
            DeviceStageResult result{};
        };
        const auto call = std::make_shared<Call>(Call{stream, {}});
        stream.run({"stage", records.size}, [this, call, bytes = records.data(), size = records.size](void* native) {
            const DeviceStagePage page{bytes, size, native};
            const DeviceStageMemory memory{call.get(), [](void* owner, std::uint64_t wanted, std::uint32_t flags) {
                                               auto& user = *static_cast<Call*>(owner);
                                               try {
                                                   user.given.push_back(share(user.stream.allocate(wanted, flags)));
                                                   return static_cast<void*>(user.given.back()->data());
                                               } catch (const std::exception&) {
                                                   return static_cast<void*>(nullptr);
                                               }
                                           }};
            call->status = entry_->run(state_, &page, &memory, &call->result);
        });
        throw_if_failed(call->status);
        const DeviceStageResult& result = call->result;
        if (result.needs_cpu) return std::nullopt;
        const auto owner_of = [&](const void* pointer) -> SharedMemory {
            for (const SharedMemory& one : call->given) {
                if (one->data() == pointer) return one;
            }
            return nullptr;
        };
        return Rewritten{owner_of(result.bytes),
                         owner_of(result.starts),
                         result.size,
                         result.record_count,
                         {result.counters, result.counters + result.counter_count},
                         Side::kDevice};
    }

private:
    const DeviceStageEntry* entry_;
    DeviceStageState* state_ = nullptr;
};

// An odd page is copied back, and the CPU processes it. `owner` and `stage` must outlive the function.
inline Annotated<Rewritten(Records)> annotate_stage(DeviceStageOwner& owner, const Stage& stage) {
    Cost cost;
    cost.by_parts = true;
    return annotate<Rewritten(Records)>(
        "stage",
        [&stage](MemoryManager& memory, const Records& records) {
            return stage_on_host(stage, memory, records.bytes());
        },
        [&owner, &stage](DeviceStream& stream, const Records& records) {
            if (std::optional<Rewritten> staged = owner.run(stream, records)) return std::move(*staged);
            const Memory page = stream.allocate_host(records.size);
            stream.copy_out(page.data(), records.data(), records.size);
            stream.synchronize();
            return stage_on_host(stage, stream.memory(), {page.data(), records.size});
        },
        cost);
}

}  // namespace cleave
