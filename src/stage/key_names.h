// Which keys rules use. The keys themselves are elsewhere (KeyRing): this holds names only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cleave {

// Collects the uses of keys while rules are read. Each use is one HMAC state of a KeyRing, at the same index.
class KeyUses {
public:
    struct Use {
        std::string key;      // its name
        std::string context;  // empty: the key itself, not one derived from it

        bool operator==(const Use&) const = default;
    };

    // `names` are those of the keys that were given.
    explicit KeyUses(std::vector<std::string> names) : names_(std::move(names)) {}

    // The index of this use; the same one for equal uses. Nothing if no key has that name.
    std::optional<std::uint32_t> add(std::string_view key, std::string_view context);

    const std::vector<std::string>& names() const { return names_; }
    const std::vector<Use>& uses() const { return uses_; }

private:
    std::vector<std::string> names_;
    std::vector<Use> uses_;
};

}  // namespace cleave
