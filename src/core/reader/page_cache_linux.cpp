#include "core/reader/page_cache.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <string>

#include "core/reader/fd.h"

namespace cleave {
namespace {

constexpr const char* kControlGroups = "/sys/fs/cgroup";

// The number that the file begins with; UINT64_MAX if there is no such file or it says "max".
std::uint64_t number_in(const std::string& path) {
    std::ifstream file(path);
    std::uint64_t number = 0;
    return file >> number ? number : UINT64_MAX;
}

// The lowest limit of a control group and of the groups that contain it.
std::uint64_t least_limit(const std::string& hierarchy, std::string group, const char* name) {
    std::uint64_t least = UINT64_MAX;
    for (;;) {
        least = std::min(least, number_in(hierarchy + group + "/" + name));
        if (group.empty()) return least;
        group.resize(group.rfind('/'));
    }
}

// Each line of /proc/self/cgroup is "ID:CONTROLLERS:/GROUP", without controllers for version 2.
std::uint64_t control_group_limit() {
    std::uint64_t least = UINT64_MAX;
    std::ifstream groups("/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) {
        const std::size_t first = line.find(':');
        const std::size_t second = line.find(':', first + 1);
        if (second == std::string::npos || second + 1 == line.size() || line[second + 1] != '/') continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        std::string group = line.substr(second + 1);
        if (group.back() == '/') group.pop_back();
        const std::string root = kControlGroups;
        if (controllers.empty()) least = std::min(least, least_limit(root, group, "memory.max"));
        if (controllers == "memory") {
            least = std::min(least, least_limit(root + "/memory", group, "memory.limit_in_bytes"));
        }
    }
    return least;
}

std::uint64_t system_memory() {
    constexpr std::uint64_t kKib = 1024;
    std::ifstream file("/proc/meminfo");
    for (std::string name; file >> name;) {
        std::uint64_t size = 0;
        if (name == "MemAvailable:" && file >> size) return size * kKib;
    }
    return UINT64_MAX;
}

}  // namespace

std::uint64_t available_memory() { return std::min(system_memory(), control_group_limit()); }

bool is_cached(int descriptor, std::uint64_t offset) noexcept {
    std::uint8_t byte = 0;
    return read_now(descriptor, static_cast<std::int64_t>(offset), {&byte, 1}) >= 0 || errno != EAGAIN;
}

bool is_better_read_once(const Blob& blob, unsigned threads) {
    constexpr unsigned kFewThreads = 4;
    constexpr std::uint64_t kPlaces = 64;
    constexpr std::uint64_t kWorthLooking = std::uint64_t{64} << 20;  // probing must not slow a short run down
    if (blob.size() <= kWorthLooking) return false;
    const BlobBacking file = blob.backing();
    if (file.descriptor < 0) return false;
    std::uint64_t missing = 0;
    for (std::uint64_t i = 0; i < kPlaces; ++i) {
        if (!is_cached(file.descriptor, file.offset + blob.size() / kPlaces * i)) ++missing;
    }
    if (missing > kPlaces / 2 && threads <= kFewThreads) return true;
    return missing > 0 && blob.size() > available_memory() / 2;
}

}  // namespace cleave
