// Measurements of a machine and one of its devices: how fast it transfers bytes and runs functions.
// cleave/experimental/offload.h uses them to place functions.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "cleave/experimental/device.h"

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

// How fast a function runs on each side; not set if that has not been measured.
struct FunctionRates {
    std::optional<Rate> host;
    std::optional<Rate> device;

    bool operator==(const FunctionRates&) const = default;
};

struct MachineProfile {
    MachineIdentity identity;
    Rate in;            // from pinned host memory to the device
    Rate out;           // from the device to pinned host memory
    Rate ordinary_in;   // from host memory that is not pinned to the device
    Rate ordinary_out;  // back to host memory that is not pinned, which is allocated for this
    double open = 0;    // seconds to open the device and make it ready for pages
    double stage = 0;   // seconds per byte for a stage on the device, including all transfers; 0: not measured
    double launch = 0;  // seconds from submitting a body to its start
    Rate host_copy;     // from host memory to host memory, with one thread
    std::map<std::string, FunctionRates> functions;  // by the name given to annotate()

    bool operator==(const MachineProfile&) const = default;
};

// The CPU's model as the operating system names it, or "unknown". Throws only std::bad_alloc.
std::string processor_model();

// Identifies this machine's CPU and the device.
MachineIdentity machine_identity(Device& device);

// Measures everything except functions, `open` and `stage`, within 2 seconds by the device's clock. Memory comes from
// the device's own manager and from `memory`. Throws DeviceError and MemoryError.
MachineProfile measure_machine(Device& device, const std::shared_ptr<MemoryManager>& memory);

// $XDG_CACHE_HOME/cleave, or ~/.cache/cleave. Empty if neither variable is an absolute path.
std::string profile_folder();

// What a profile file contains. `profile` is set if it may be used; otherwise `reason` says in a few words why not:
// "not measured yet", "belongs to another device", "is damaged".
struct ReadProfile {
    std::optional<MachineProfile> profile;
    std::string reason;
    std::string path;  // of the file, which may not exist
};

// Looks in `folder` for the profile of the machine. Does not read a file that is a link, belongs to another user, or
// can be written to by other users. Throws only std::bad_alloc.
ReadProfile read_profile(const std::string& folder, const MachineIdentity& identity);

// The profile that was written last. Its device may have been replaced since: compare it with machine_identity() once
// the device is open. If there is no file, `path` is the folder's.
ReadProfile read_newest_profile(const std::string& folder);

// Writes the profile in one step, readable only by this user. Creates the last folder of the path, and its parent, if
// they do not exist. Returns the file's path. Throws SystemError with the path, including when the folder is a
// link, belongs to another user, or can be written to by other users.
std::string write_profile(const std::string& folder, const MachineProfile& profile);

}  // namespace cleave
