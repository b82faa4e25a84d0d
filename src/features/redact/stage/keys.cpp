#include "features/redact/stage/keys.h"

#include <algorithm>
#include <utility>

#include "cleave/error.h"
#include "features/redact/stage/mac.h"

namespace cleave {
namespace {

std::string id_of(std::span<const std::uint8_t> key) {
    constexpr std::size_t kSize = 8;
    return labelled_mac_hex(key, "cleave key id 1", "", kSize);
}

}  // namespace

std::size_t KeyRing::Keys::index_of(std::string_view name) const {
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) throw ArgumentError("no key has the name \"" + std::string(name) + "\"");
    return static_cast<std::size_t>(found - names.begin());
}

KeyRing::KeyRing(std::span<const std::string> sources, std::span<const NamedKey> given, std::uint32_t patience_ms)
    : keys_(std::make_unique<Keys>()) {
    const std::chrono::milliseconds patience(patience_ms);
    const auto add = [&](const KeySource& source, const auto& read) {
        if (std::ranges::find(keys_->names, source.name) != keys_->names.end()) {
            throw RuleError("two keys have the name \"" + source.name + "\"", "--key", source.text, 0);
        }
        SecretKey key = read(source);
        keys_->ids.push_back(id_of(key.bytes()));
        keys_->names.push_back(source.name);
        keys_->versions.push_back(source.version);
        keys_->keys.push_back(std::move(key));
    };
    for (const std::string& text : sources) {
        add(parse_key_source(text), [&](const KeySource& source) { return read_key(source, patience); });
    }
    for (const NamedKey& key : given) {
        add(given_source(key.name), [&](const KeySource& source) { return copy_key(source, key.bytes); });
    }
}

KeyRing::KeyRing(KeyRing&&) noexcept = default;
KeyRing& KeyRing::operator=(KeyRing&&) noexcept = default;
KeyRing::~KeyRing() = default;

const std::vector<std::string>& KeyRing::names() const noexcept { return keys_->names; }

std::uint64_t KeyRing::version(std::string_view name) const { return keys_->versions[keys_->index_of(name)]; }

const std::string& KeyRing::id(std::string_view name) const { return keys_->ids[keys_->index_of(name)]; }

}  // namespace cleave
