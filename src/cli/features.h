// The features of this build: the folders of src/features that CMake was told to build. Verbs and options of the others
// are refused, with the name of the feature.
#pragma once

#include <algorithm>
#include <string_view>

namespace cleave::cli {

constexpr std::string_view kFeatures[] = {
#include "feature_rows.inc"
};

constexpr bool has_feature(std::string_view name) { return std::ranges::find(kFeatures, name) != std::end(kFeatures); }

// Throws UsageError. `what` needs the feature.
[[noreturn]] void refuse_without(std::string_view feature, std::string_view what = {});

}  // namespace cleave::cli
