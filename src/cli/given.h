// The words of a command line, sorted by option. This file knows which options a verb has, but not what they mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/options.h"
#include "cli/values.h"
#include "core/reader/location.h"

namespace cleave::cli {

// The options that were given, by long name, and the inputs. An option given under an old name counts as its successor.
// An option with a value may be given only once, unless its values accumulate: see all(). If two options set the same
// thing (--header and --no-header, --quote and --no-quote, --quiet and --verbose), the last one counts, and has()
// reports the other as not given.
class Given {
public:
    // Throws UsageError for an option that the verb does not have, a missing value, a value for a switch, or a second
    // value for an option that takes one.
    Given(Verb verb, const std::vector<std::string>& words);

    bool has(std::string_view name) const { return find(name) != nullptr; }

    // Whether both were given, `name` after `other`.
    bool is_after(std::string_view name, std::string_view other) const;

    // The option as it was typed, such as "-l" or "--records". Precondition: it was given.
    const std::string& spelling(std::string_view name) const { return find(name)->spelling; }

    // Throws UsageError if both were given.
    void refuse_both(std::string_view name, std::string_view other) const;

    // nullptr if the option was not given.
    const std::string* text(std::string_view name) const {
        const Use* use = find(name);
        return use == nullptr ? nullptr : &use->values.back();
    }

    // All values, in order; empty if the option was not given.
    std::vector<std::string> all(std::string_view name) const {
        const Use* use = find(name);
        return use == nullptr ? std::vector<std::string>() : use->values;
    }

    // std::nullopt if the option was not given. These throw UsageError, as do the parsers in values.h.
    std::optional<std::uint64_t> count(std::string_view name, std::uint64_t least) const {
        const std::string* value = text(name);
        return value == nullptr ? std::nullopt : std::optional(parse_count(spelling(name), *value, least));
    }
    std::optional<std::uint64_t> size(std::string_view name) const {
        const std::string* value = text(name);
        return value == nullptr ? std::nullopt : std::optional(parse_size(spelling(name), *value));
    }
    std::optional<std::uint8_t> byte(std::string_view name) const {
        const std::string* value = text(name);
        return value == nullptr ? std::nullopt : std::optional(parse_byte(spelling(name), *value));
    }
    template <class T, std::size_t kCount>
    std::optional<T> choice(std::string_view name, const Choice<T> (&choices)[kCount]) const {
        if (!has(name)) return std::nullopt;
        return std::optional<T>(std::in_place, parse_choice(spelling(name), *text(name), choices));
    }

    Verb verb() const { return verb_; }
    const LocationList& inputs() const { return inputs_; }

private:
    struct Use {
        std::string name;
        std::string spelling;
        std::vector<std::string> values;  // at least one; empty for a switch
        std::size_t order;                // its position among the options given, from 1
    };
    const Use* find(std::string_view name) const {  // nullptr if it was not given
        for (const Use& use : options_) {
            if (use.name == name) return &use;
        }
        return nullptr;
    }
    void take(const std::string& name, std::string spelling, const std::optional<std::string>& value);

    void refuse_old_quote() const;

    Verb verb_;
    std::size_t uses_ = 0;
    std::vector<Use> options_;
    LocationList inputs_;
};

}  // namespace cleave::cli
