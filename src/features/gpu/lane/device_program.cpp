#include "features/gpu/lane/device_program.h"

#include <cstring>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "features/gpu/device.h"
#include "features/redact/stage/ambiguous.h"
#include "features/redact/stage/flatten.h"
#include "features/redact/stage/program.h"

namespace cleave {
namespace {

void throw_if_failed(const cleave_device_status& given) {
    const DeviceStatus status(given);
    if (!status.is_good()) throw DeviceError(status.fault(), status.text());
}

// Memory that a stage allocates on the device. All of it is kept until it is known which blocks hold the result.
class StageMemory {
public:
    explicit StageMemory(DeviceStream& stream) : stream_(stream) {}

    DeviceStageMemory face() { return {this, &allocate}; }
    void throw_if_failed() const {
        if (thrown_) std::rethrow_exception(thrown_);
    }
    // Returns the block that begins at `begin`; null if there is none.
    std::shared_ptr<const Memory> take(const void* begin) {
        for (Memory& block : blocks_) {
            if (block.size() > 0 && block.data() == begin) return std::make_shared<const Memory>(std::move(block));
        }
        return nullptr;
    }

private:
    static void* allocate(void* owner, std::uint64_t size, std::uint32_t flags) noexcept {
        auto& self = *static_cast<StageMemory*>(owner);
        try {
            self.blocks_.push_back(self.stream_.allocate(size, flags));
            return self.blocks_.back().data();
        } catch (...) {
            self.thrown_ = std::current_exception();
            return nullptr;
        }
    }

    DeviceStream& stream_;
    std::vector<Memory> blocks_;
    std::exception_ptr thrown_;
};

}  // namespace

std::shared_ptr<DeviceProgram> DeviceProgram::make(const Stage& stage) {
    const std::optional<ParseMarkup> markup = parse_markup(stage.dialect());
    std::optional<SecretMemory> flat = flat_for_device(stage);
    if (!markup || !flat) return nullptr;
    std::shared_ptr<DeviceProgram> made(new DeviceProgram(std::move(*flat), *markup));
    if (stage.program().refuses_backslash) made->quote_ = stage.dialect().quote;
    made->has_keys_ = !stage.program().uses.uses().empty();
    return made;
}

bool DeviceProgram::is_for_cpu(std::span<const std::uint8_t> bytes) const noexcept {
    if (quote_ && has_escaped_quote(bytes, *quote_)) return true;
    return has_keys_ && !bytes.empty() && std::memchr(bytes.data(), 0xFF, bytes.size()) != nullptr;
}

bool DeviceProgram::open(Device& device) {
    if (state_ != nullptr) return true;
    entry_ = static_cast<const DeviceStageEntry*>(device.entry(kDeviceStageEntry));
    if (entry_ == nullptr) return false;
    const DeviceStageProgram program{flat_.bytes().data(), flat_.bytes().size(), markup_};
    throw_if_failed(entry_->open(&device.face(), &program, &state_));
    return true;
}

RewrittenPage DeviceProgram::run(DeviceStream& stream, const RecordPage& page) {
    RewrittenPage records;
    records.page = page;
    records.is_for_cpu = page.is_for_cpu || !open(stream.device());
    if (records.is_for_cpu) return records;
    StageMemory memory(stream);
    const DeviceStageMemory face = memory.face();
    const DeviceStagePage input{page.on_device->data(), page.bytes.size(), stream.native()};
    cleave_device_status status{};
    DeviceStageResult result{};
    stream.run({"stage", page.bytes.size()},
               [&](void* /*native*/) { status = entry_->run(state_, &input, &face, &result); });
    stream.synchronize();  // the function passed to run() has been called by now
    memory.throw_if_failed();
    throw_if_failed(status);
    records.is_for_cpu = result.needs_cpu;
    if (result.needs_cpu) return records;
    records.side = Side::kDevice;
    records.counters.assign(result.counters, result.counters + result.counter_count);
    records.size = result.size;
    records.records = result.record_count;
    records.bytes = memory.take(result.bytes);
    records.starts = memory.take(result.starts);
    return records;
}

DeviceProgram::~DeviceProgram() {
    if (state_ != nullptr) entry_->close(state_);
}

}  // namespace cleave
