#include "settings.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cleave/error.h"
#include "cleave/plan.h"

namespace nb = nanobind;
using namespace nb::literals;  // NOLINT(google-build-using-namespace): _a

namespace cleave::python {
namespace {

HeaderMode mode_of(const std::string& header) {
    if (header == "repeat") return HeaderMode::kRepeat;
    if (header == "first") return HeaderMode::kFirst;
    if (header == "drop") return HeaderMode::kDrop;
    if (header == "none") return HeaderMode::kNone;
    throw ArgumentError("header: '" + header + "' is not one of repeat, first, drop");
}

using Parts = std::vector<std::pair<std::string, std::uint64_t>>;

Policy policy_by(std::string columns, std::optional<std::uint64_t> buckets, Parts parts, std::uint64_t seed,
                 std::optional<std::uint64_t> max_values, std::optional<std::uint64_t> size,
                 std::optional<std::uint64_t> records, bool accepts_missing, const std::string& header) {
    Policy policy;
    policy.max_bytes = size;
    policy.records = records;
    ByValue& by = policy.by.emplace();
    by.columns = {std::move(columns), "by"};
    by.is_delimiter_given = by.is_header_given = true;  // the numbers refer to File.header
    by.accepts_missing = accepts_missing;
    by.buckets = buckets;
    for (auto& [name, weight] : parts) by.parts.push_back({std::move(name), weight});
    by.seed = seed;
    if (max_values) by.max_values = *max_values;
    policy.header = mode_of(header);
    return policy;
}

Policy policy_of(std::optional<std::uint64_t> n, std::optional<std::uint64_t> size,
                 std::optional<std::uint64_t> records, const std::optional<std::string>& together,
                 const std::string& balance, bool accepts_missing, const std::string& header) {
    Policy policy;
    policy.pieces = n;
    policy.max_bytes = size;
    policy.records = records;
    if (balance != "bytes" && balance != "records") {
        throw ArgumentError("balance: '" + balance + "' is neither bytes nor records");
    }
    policy.balance = balance == "records" ? Balance::kRecords : Balance::kBytes;
    if (together) policy.together = Together{{*together, "together"}, true, true, accepts_missing};
    policy.header = mode_of(header);
    return policy;
}

}  // namespace

void add_policies(nb::module_& module) {
    nb::class_<Policy>(module, "Policy")
        .def_static("of", &policy_of, "n"_a.none(), "size"_a.none(), "records"_a.none(), "together"_a.none(),
                    "balance"_a, "accepts_missing"_a, "header"_a)
        .def_static("by_value", &policy_by, "columns"_a, "buckets"_a.none(), "parts"_a, "seed"_a, "max_values"_a.none(),
                    "size"_a.none(), "records"_a.none(), "accepts_missing"_a, "header"_a);
}

}  // namespace cleave::python
