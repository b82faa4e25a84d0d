#include "cleave/memory.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "base/printable.h"
#include "cleave/error.h"
#include "rows/memory/completed_manager.h"
#include "rows/memory/pool_manager.h"
#include "rows/memory/raw_manager.h"
#include "rows/memory/system_manager.h"

namespace cleave {
namespace {

MemoryManagerNameError name_error(std::string_view name, const std::string& what) {
    MemoryManagerNameError error("memory manager " + std::string(name) + ": " + what);
    return error;
}

ManagerBase* make_system(std::string_view config) {
    if (!config.empty()) throw name_error("system", "takes no settings");
    return new SystemManager(Pages::kSmall);
}

ManagerBase* make_huge(std::string_view config) {
    if (config.empty() || config == "transparent") return new SystemManager(Pages::kTransparentHuge);
    if (config == "explicit") return new SystemManager(Pages::kReservedHuge);
    throw name_error("huge", "'" + std::string(config) + "' is not transparent or explicit");
}

// Parses "64M": a number of bytes, optionally with K, M or G for powers of 1024. Returns 0 if the string is malformed
// or the size too large.
std::uint64_t parse_size(std::string_view text) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc()) return 0;
    const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
    const unsigned shift = unit.empty() ? 0 : unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : 64;
    if (shift == 64 || number > PoolManager::kMaxRegionSize >> shift) return 0;
    return number << shift;
}

ManagerBase* make_pool(std::string_view config) {
    const std::uint64_t size = config.empty() ? PoolManager::kDefaultRegionSize : parse_size(config);
    if (size < PoolManager::kMinRegionSize || size > PoolManager::kMaxRegionSize) {
        throw name_error("pool", "'" + std::string(config) + "' is not a size of 64K to 1024G");
    }
    return new PoolManager((new SystemManager(Pages::kSmall))->face(), size);
}

struct BuiltIn {
    std::string_view name;
    ManagerBase* (*make)(std::string_view config);
};

constexpr std::array kBuiltIn{BuiltIn{"system", make_system}, BuiltIn{"huge", make_huge}, BuiltIn{"pool", make_pool}};

ManagerBase* make_named(std::string_view name, std::string_view config) {
    std::string known;
    for (const BuiltIn& one : kBuiltIn) {
        if (name == one.name) return one.make(config);
        known += (known.empty() ? "" : ", ") + std::string(one.name);
    }
    if (name.find('/') != std::string_view::npos) {
        throw name_error(name, "the path of a library must be absolute");
    }
    throw MemoryManagerNameError("unknown memory manager '" + std::string(name) + "': name one of " + known +
                                 ", or the path of a library");
}

// Completes the manager with the default one and initializes both.
OwnedManager completed(OwnedManager chosen) {
    const std::string name = printable(chosen->name);
    std::vector<OwnedManager> managers;
    managers.push_back(std::move(chosen));
    managers.push_back(OwnedManager(&make_system({})->face()));
    OwnedManager all(&(new CompletedManager(std::move(managers)))->face());
    if (const int error = all->initialize(all->state, -1); error != 0) {
        throw MemoryManagerError("memory manager " + name + ": cannot be initialised: " + std::strerror(error));
    }
    return all;
}

std::string text_of(const std::string& manager, int error, std::size_t size) {
    const std::string name = "memory manager " + manager;
    const std::string bytes = std::to_string(size) + " bytes";
    if (error == ENOMEM) return "out of memory: " + name + " has no " + bytes;
    if (error == EPROTO) return name + ": a request for " + bytes + " returned memory that is too small or misaligned";
    if (error == ENOTSUP) return name + ": has no memory of this kind";
    return name + ": a request for " + bytes + ": " + std::strerror(error);
}

}  // namespace

void DestroyManager::operator()(const cleave_memory_manager* manager) const { manager->destroy(manager->state); }

MemoryManager::MemoryManager(std::unique_ptr<const cleave_memory_manager, DestroyManager> completed,
                             const PoolManager* pool)
    : manager_(std::move(completed)), pool_(pool) {}

MemoryManager::~MemoryManager() = default;

RawManager open_raw_manager(const std::string& name) {
    const std::size_t colon = name.find(':');
    const std::string first = name.substr(0, colon);
    const std::string config = colon == std::string::npos ? "" : name.substr(colon + 1);
    if (first.starts_with('/')) return {OwnedManager(open_plugin(first, config)), nullptr};
    const ManagerBase* const made = make_named(first, config);
    return {OwnedManager(&made->face()), dynamic_cast<const PoolManager*>(made)};
}

std::shared_ptr<MemoryManager> MemoryManager::open(const std::string& name) {
    RawManager raw = open_raw_manager(name);
    return std::shared_ptr<MemoryManager>(new MemoryManager(completed(std::move(raw.manager)), raw.pool));
}

std::shared_ptr<MemoryManager> MemoryManager::or_default(std::shared_ptr<MemoryManager> manager) {
    return manager ? std::move(manager) : open("system");
}

std::shared_ptr<MemoryManager> MemoryManager::adopt(const cleave_memory_manager& manager) {
    check_version(manager, manager.name != nullptr ? printable(manager.name) : "?");
    return std::shared_ptr<MemoryManager>(new MemoryManager(completed(OwnedManager(&manager)), nullptr));
}

std::string MemoryManager::name() const { return printable(manager_->name); }

std::optional<PoolStatistics> MemoryManager::pool_statistics() const {
    if (pool_ == nullptr) return std::nullopt;
    return pool_->statistics();
}

Memory MemoryManager::allocate(const MemoryRequest& request) {
    std::size_t alignment = request.alignment;
    if (check_request(static_cast<cleave_memory_space>(request.space), alignment, request.flags) != 0) {
        throw ArgumentError("memory: an alignment, space or flag that does not exist");
    }
    Memory made;
    made.manager_ = shared_from_this();
    made.stream_ = request.stream;
    const int error = manager_->allocate(manager_->state, static_cast<cleave_memory_space>(request.space), request.size,
                                         request.alignment, request.flags, request.stream, &made.memory_);
    if (error == 0) return made;
    made.manager_.reset();
    throw MemoryError(name(), error, request.size);
}

MemoryError::MemoryError(const std::string& manager, int error, std::size_t size)
    : text_(std::make_shared<const std::string>(text_of(manager, error, size))), error_(error) {}

Memory::Memory(Memory&& other) noexcept
    : manager_(std::move(other.manager_)), memory_(std::exchange(other.memory_, {})), stream_(other.stream_) {}

Memory& Memory::operator=(Memory&& other) noexcept {
    if (this != &other) {
        release();
        manager_ = std::move(other.manager_);
        memory_ = std::exchange(other.memory_, {});
        stream_ = other.stream_;
    }
    return *this;
}

Memory::~Memory() { release(); }

void Memory::release() noexcept {
    if (!manager_) return;
    const cleave_memory_manager& manager = manager_->manager();
    manager.release(manager.state, &memory_, stream_);
    memory_ = {};
    manager_.reset();
}

}  // namespace cleave
