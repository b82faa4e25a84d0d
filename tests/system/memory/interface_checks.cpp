// What a manager reports about itself.
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "conformance.h"

namespace cleave::conformance {
namespace {

void check_version(const Options& options) {
    const Subject subject(options, true);
    const cleave_memory_manager& face = subject.face();
    expect(face.interface_version == CLEAVE_MEMORY_MANAGER_VERSION, "interface_version is not that of the header");
    expect(face.struct_size >= offsetof(cleave_memory_manager, open_ipc), "struct_size is too small");
    expect(face.reserved == 0, "reserved is not 0");
}

void check_name(const Options& options) {
    const Subject subject(options, true);
    expect(subject.face().name != nullptr, "there is no name");
    const std::string_view name = subject.face().name;
    expect(!name.empty(), "the name is empty");
    for (const char byte : name) expect(byte >= ' ' && byte != 0x7F, "the name has a control character");
}

void check_members(const Options& options) {
    const Subject subject(options, true);
    const cleave_memory_manager& face = subject.face();
    expect(face.initialize != nullptr && face.allocate != nullptr && face.release != nullptr && face.reset != nullptr &&
               face.destroy != nullptr,
           "a member that every manager has is null");
    const auto agrees = [&](std::uint32_t capability, bool is_there, const std::string& what) {
        expect(subject.can(capability) == is_there,
               what + " is set, and its capability is not, or the other way round");
    };
    agrees(CLEAVE_MEMORY_CAN_PIN, face.pin != nullptr, "pin");
    agrees(CLEAVE_MEMORY_CAN_EXPORT, face.export_ipc != nullptr, "export_ipc");
    agrees(CLEAVE_MEMORY_CAN_OPEN, face.struct_size >= sizeof face && face.open_ipc != nullptr, "open_ipc");
    agrees(CLEAVE_MEMORY_CAN_INFO, face.info != nullptr, "info");
    agrees(CLEAVE_MEMORY_CAN_DEFER, face.defer_cleanup_begin != nullptr, "defer_cleanup_begin");
    agrees(CLEAVE_MEMORY_CAN_DEFER, face.defer_cleanup_end != nullptr, "defer_cleanup_end");
}

void check_capabilities(const Options& options) {
    const Subject subject(options, true);
    constexpr std::uint32_t kKnown = (CLEAVE_MEMORY_CAN_OPEN << 1) - 1 + CLEAVE_MEMORY_IS_STREAM_ORDERED;
    expect((subject.face().capabilities & ~kKnown) == 0, "there are capabilities that do not exist");
    constexpr std::uint32_t kSpacesOfAll =
        CLEAVE_MEMORY_CAN_HOST | CLEAVE_MEMORY_CAN_PINNED | CLEAVE_MEMORY_CAN_MAPPED | CLEAVE_MEMORY_CAN_DEVICE;
    expect((subject.face().capabilities & kSpacesOfAll) != 0, "it has memory of no space");
}

void check_info(const Options& options) {
    const Subject subject(options);
    if (!subject.can(CLEAVE_MEMORY_CAN_INFO)) skip("it has no info");
    const cleave_memory_manager& face = subject.face();
    for (const cleave_memory_space space : subject.spaces()) {
        const cleave_memory memory = subject.allocate({.size = 100'000, .space = space});
        std::uint64_t free_size = 0;
        std::uint64_t total_size = 0;
        const int error = face.info(face.state, space, &free_size, &total_size);
        subject.release(memory);
        if (error == ENOTSUP) continue;
        expect_error(error, 0, "info of " + name_of(space) + " memory");
        expect(total_size > 0, "info: there is no " + name_of(space) + " memory at all");
        expect(free_size <= total_size, "info: more " + name_of(space) + " memory is free than there is");
    }
}

// Between begin and end, the manager gives nothing back to the system or the driver.
void check_deferral(const Options& options, const Subject& subject) {
    const cleave_memory_manager& face = subject.face();
    for (const cleave_memory_space space : subject.spaces()) {
        subject.reset();
        const Figures figures(options, subject);
        if (!figures.has(space)) continue;
        expect_error(face.defer_cleanup_begin(face.state), 0, "defer_cleanup_begin");
        std::vector<cleave_memory> held;
        for (int i = 0; i < 40; ++i) {
            held.push_back(subject.allocate({.size = 2 * kMiB, .space = space}));
            if (space == CLEAVE_MEMORY_HOST) std::memset(held.back().pointer, 1, 2 * kMiB);
        }
        for (const cleave_memory& memory : held) subject.release(memory);
        figures.expect_more(space, 70 * kMiB, Figures::Who::kOthers);
        expect_error(face.defer_cleanup_end(face.state), 0, "defer_cleanup_end");
        subject.reset();
        figures.expect_no_more("after deferral and reset");
    }
}

void check_defer(const Options& options) {
    const Subject subject(options);
    if (!subject.can(CLEAVE_MEMORY_CAN_DEFER)) skip("it has no defer_cleanup_begin");
    const cleave_memory_manager& face = subject.face();
    const auto end = [&] { return face.defer_cleanup_end(face.state); };
    const auto begin = [&] { expect_error(face.defer_cleanup_begin(face.state), 0, "defer_cleanup_begin"); };
    expect_error(end(), EINVAL, "an end without a begin");
    begin();
    begin();
    for (std::size_t i = 0; i < 50; ++i) {
        subject.release(subject.allocate({.size = 1 + i * 1000, .space = subject.space()}));
    }
    expect_error(end(), 0, "the inner end");
    const cleave_memory memory = subject.allocate({.size = 1000, .space = subject.space()});
    expect_error(end(), 0, "the outer end");
    expect_error(end(), EINVAL, "an end more than there are begins");
    subject.release(memory);
    check_deferral(options, subject);
    begin();
    subject.release(subject.allocate({.size = 1000, .space = subject.space()}));
}

constexpr std::array kInterfaceChecks{
    NamedCheck{"interface.version", check_version}, NamedCheck{"interface.name", check_name},
    NamedCheck{"interface.members", check_members}, NamedCheck{"interface.capabilities", check_capabilities},
    NamedCheck{"interface.info", check_info},       NamedCheck{"interface.defer_cleanup", check_defer},
};

}  // namespace

std::span<const NamedCheck> interface_checks() { return kInterfaceChecks; }

}  // namespace cleave::conformance
