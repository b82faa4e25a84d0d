// What was measured of a machine and one of its devices: how fast bytes move and functions run. cleave/offload.h places
// functions by it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "cleave/device.h"

namespace cleave {

// A straight line: seconds = fixed + per_byte * bytes.
struct Rate {
    double fixed = 0;
    double per_byte = 0;

    double seconds(double bytes) const noexcept { return fixed + per_byte * bytes; }
    bool operator==(const Rate&) const = default;
};

struct MachineIdentity {
    std::string cpu;     // its model
    std::string device;  // the device's UUID
    std::string driver;

    bool operator==(const MachineIdentity&) const = default;
};

// How fast a function runs on each side; nothing where that was not measured.
struct FunctionRates {
    std::optional<Rate> host;
    std::optional<Rate> device;

    bool operator==(const FunctionRates&) const = default;
};

struct MachineProfile {
    MachineIdentity identity;
    Rate in;            // from pinned memory of the host to the device
    Rate out;           // back
    Rate ordinary_in;   // from memory of the host that is not pinned
    Rate ordinary_out;  // back to such memory, which is allocated for that
    double open = 0;    // seconds to open the device, and to make it ready for pages
    double stage = 0;   // seconds per byte of a stage on the device, all moves included; 0: not measured
    double launch = 0;  // seconds from submitting a body to its start
    Rate host_copy;     // from host memory to host memory, one thread
    std::map<std::string, FunctionRates> functions;  // by the name that annotate() was given

    bool operator==(const MachineProfile&) const = default;
};

// As the kernel names it, or "unknown". Throws std::bad_alloc only.
std::string processor_model();

// Of this machine's CPU and the device.
MachineIdentity machine_identity(Device& device);

// Measures everything but the functions, `open` and `stage`, within 2 seconds of the device's clock. Memory comes from
// the device's own manager and from `memory`. Throws DeviceError and MemoryError.
MachineProfile measure_machine(Device& device, const std::shared_ptr<MemoryManager>& memory);

// $XDG_CACHE_HOME/cleave, or ~/.cache/cleave. Empty if neither variable has an absolute path.
std::string profile_folder();

// What a file with a profile holds. `profile` is set if it may be used; else `reason` says in a few words why not: "not
// measured yet", "is of another device", "is damaged".
struct ReadProfile {
    std::optional<MachineProfile> profile;
    std::string reason;
    std::string path;  // of the file, which may not exist
};

// Looks in `folder` for the profile of the machine. A file that is a link, is not of this user, or can be written by
// others is not read. Throws std::bad_alloc only.
ReadProfile read_profile(const std::string& folder, const MachineIdentity& identity);

// The profile that was written last, of a device that may be another one now: to be compared with machine_identity()
// once the device is open. `path` is that of the folder if there is no file.
ReadProfile read_newest_profile(const std::string& folder);

// Writes the profile, in one step, readable by this user alone. Makes the last folder of the path if it does not exist,
// and its parent. Returns the file's path. Throws std::system_error with the path, also if the folder is a link, is not
// of this user, or can be written by others.
std::string write_profile(const std::string& folder, const MachineProfile& profile);

}  // namespace cleave
