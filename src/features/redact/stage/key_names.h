// The keys that rules use, by name only; the keys themselves are elsewhere (KeyRing).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cleave {

// Collects the uses of keys while rules are read. Each use becomes one HMAC state of a Hasher, and each use as a cipher
// one state of a Cipher, at the same index.
class KeyUses {
public:
    struct Use {
        std::string key;             // the name of the key
        std::string context;         // may be empty
        std::string operation = {};  // whose key is derived; empty for tokens of version 1, see stage/hasher.h

        bool operator==(const Use&) const = default;
    };

    // `names` are the names of the available keys; `versions` their versions, at the same indexes, or 0.
    explicit KeyUses(std::vector<std::string> names, std::vector<std::uint64_t> versions = {})
        : names_(std::move(names)), versions_(std::move(versions)) {}

    // The index of this use. Equal uses have the same index. Returns std::nullopt if no key has that name.
    std::optional<std::uint32_t> add(const Use& use) { return add(use, uses_); }
    std::optional<std::uint32_t> add_cipher(const Use& use) { return add(use, ciphers_); }

    const std::vector<std::string>& names() const { return names_; }
    // The version of the key; 0 if it has none.
    std::uint64_t version_of(std::string_view key) const {
        const auto place = static_cast<std::size_t>(std::ranges::find(names_, key) - names_.begin());
        return place < versions_.size() ? versions_[place] : 0;
    }
    const std::vector<Use>& uses() const { return uses_; }
    const std::vector<Use>& ciphers() const { return ciphers_; }

private:
    std::optional<std::uint32_t> add(const Use& use, std::vector<Use>& uses) const {
        if (std::ranges::find(names_, use.key) == names_.end()) return std::nullopt;
        const auto found = std::ranges::find(uses, use);
        const auto index = static_cast<std::uint32_t>(found - uses.begin());
        if (found == uses.end()) uses.push_back(use);
        return index;
    }

    std::vector<std::string> names_;
    std::vector<std::uint64_t> versions_;
    std::vector<Use> uses_;
    std::vector<Use> ciphers_;
};

}  // namespace cleave
