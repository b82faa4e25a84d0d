#include <nanobind/operators.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "buffer.h"
#include "cleave/cleave.h"
#include "cleave/error.h"
#include "cleave/experimental/range_plan.h"
#include "cleave/experimental/range_summary.h"
#include "errors.h"
#include "file.h"

namespace nb = nanobind;
using namespace nb::literals;  // NOLINT(google-build-using-namespace): _a

namespace cleave::python {
namespace {

// An input whose bytes a Python function reads: read(offset, size) returns them.
class ReadBlob final : public Blob {
public:
    ReadBlob(nb::callable read, std::uint64_t size) : read_(std::move(read)), size_(size) {}

    std::uint64_t size() const noexcept override { return size_; }
    std::span<const std::uint8_t> lend(std::uint64_t offset, std::size_t size,
                                       std::vector<std::uint8_t>& buffer) const override {
        const nb::gil_scoped_acquire locked;
        const nb::object object = read_(offset, size);
        const Buffer bytes(object);
        if (bytes.bytes().size() != size) throw ArgumentError("read: the wrong number of bytes came");
        buffer.assign(bytes.bytes().begin(), bytes.bytes().end());
        return buffer;
    }

private:
    nb::callable read_;
    std::uint64_t size_;
};

// One cut of a plan, stored as a plan with one piece so that it can be written as text.
struct Cut {
    RangePlan plan;
};

std::string text_of(const RangeSummary& summary) { return range_text(summary, {summary.end, "-"}); }

Dialect complete_dialect(const Settings& settings) {
    if (settings.dialect.sniff_delimiter || settings.dialect.sniff_terminator) {
        throw ArgumentError("delimiter and terminator cannot be told from a range: give both");
    }
    if (settings.dialect.preamble.lines > 0 || !settings.dialect.preamble.comment.empty()) {
        throw ArgumentError("a range does not show where the lines before the header end; give preamble");
    }
    return settings.dialect.dialect;
}

RangeSummary scan(nb::handle object, std::uint64_t start, const Settings& settings) {
    const Dialect dialect = complete_dialect(settings);
    const Buffer buffer(object);
    if (start == 0 && dialect.preamble == 0 &&
        settle_dialect(settings.dialect, buffer.bytes(), "").dialect.preamble > 0) {
        throw ArgumentError("the input begins with a line that names its delimiter; give preamble");
    }
    Execution execution;
    execution.threads = settings.threads;
    const nb::gil_scoped_release unlocked;
    return summarise_range(buffer.bytes(), start, dialect, execution);
}

// The state after the buffer, the records that end in it, and the offset just past the last of them.
std::tuple<nb::bytes, std::uint64_t, std::optional<std::uint64_t>> scan_bytes(nb::handle object,
                                                                              const std::optional<nb::bytes>& before,
                                                                              const Settings& settings) {
    const Dialect dialect = complete_dialect(settings);
    const auto number = [](std::optional<std::uint8_t> byte) { return static_cast<std::int16_t>(byte ? *byte : -1); };
    const cleave_scan_dialect plain{number(dialect.quote),
                                    number(dialect.escape),
                                    dialect.delimiter,
                                    static_cast<std::uint8_t>(dialect.terminator),
                                    static_cast<std::uint8_t>(dialect.quoting),
                                    static_cast<std::uint8_t>(dialect.escape_scope)};
    cleave_scan_state state = cleave_scan_begin(&plain);
    if (before && before->size() == sizeof state) std::memcpy(&state, before->c_str(), sizeof state);
    const Buffer buffer(object);
    cleave_scan_counts counts;
    const bool is_valid = [&] {
        const nb::gil_scoped_release unlocked;
        return cleave_scan(&plain, &state, buffer.bytes().data(), buffer.bytes().size(), &counts) == 0;
    }();
    if (!is_valid || (before && before->size() != sizeof state)) {
        throw ArgumentError("state: not what scan_bytes has returned for this dialect");
    }
    return {nb::bytes(reinterpret_cast<const char*>(&state), sizeof state), counts.records,
            counts.last == CLEAVE_SCAN_NONE ? std::nullopt : std::optional(counts.last)};
}

RangePlan plan(const std::vector<const RangeSummary*>& summaries, std::uint64_t input_size,
               std::optional<std::uint64_t> n, std::optional<std::uint64_t> records, bool has_header,
               bool allow_open_quote) {
    Policy policy;
    policy.pieces = n;
    policy.records = records;
    policy.header = has_header ? HeaderMode::kRepeat : HeaderMode::kNone;
    RangeFold fold(input_size);
    for (const RangeSummary* const summary : summaries) {
        if (summary == nullptr) throw ArgumentError("plan: a summary is None");
        fold.add(*summary);
    }
    RangePlan plan = fold.plan(policy);
    if (plan.findings.open_quote && !allow_open_quote) {
        const std::uint64_t header_records = plan.findings.records_before_data(has_header);
        throw PlacedError{OpenQuoteError(*plan.findings.open_quote), true, header_records};
    }
    plan.input.name = "-";
    return plan;
}

nb::list cuts_of(const RangePlan& plan) {
    RangePlan frame = plan;
    frame.cuts.clear();
    nb::list cuts;
    for (const RangeCut& cut : plan.cuts) {
        frame.cuts.assign(1, cut);
        cuts.append(Cut{frame});
    }
    return cuts;
}

// Returns the byte, and the record counted from 1 after the header.
std::pair<std::uint64_t, std::uint64_t> find(const Cut& cut, nb::callable read) {
    const RangePlan& plan = cut.plan;
    const ReadBlob blob(std::move(read), plan.findings.size);
    Execution execution;
    execution.threads = 1;  // for one cut
    const Boundary found = [&] {
        const nb::gil_scoped_release unlocked;
        return find_cuts(blob, plan.dialect, plan.cuts, execution).front();
    }();
    const std::uint64_t header = plan.findings.records_before_data(plan.header != HeaderMode::kNone);
    return {found.offset, found.record - header + 1};
}

}  // namespace

void add_ranges(nb::module_& module) {
    nb::class_<RangeSummary>(module, "Summary")
        .def_ro("begin", &RangeSummary::begin)
        .def_ro("end", &RangeSummary::end)
        .def(
            "__add__", [](const RangeSummary& a, const RangeSummary& b) { return compose(a, b); }, nb::is_operator())
        .def(
            "__eq__", [](const RangeSummary& a, const RangeSummary& b) { return a == b; }, nb::is_operator())
        .def(
            "text",
            [](const RangeSummary& self, std::uint64_t input_size, const std::string& version) {
                return range_text(self, {input_size, version});
            },
            "input_size"_a, "version"_a)
        .def_static(
            "of_text",
            [](const std::string& text) {
                SummarisedRange range = parse_range_text(text);
                return std::make_tuple(range.summary, range.input.size, range.input.name);
            },
            "text"_a)
        .def("__getstate__", &text_of)
        .def("__setstate__", [](RangeSummary& self, const std::string& text) {
            new (&self) RangeSummary(parse_range_text(text).summary);
        });
    // As in Python itself, a class with equality by value has no hash by identity.
    module.attr("Summary").attr("__hash__") = nb::none();

    nb::class_<Cut>(module, "Cut")
        .def("find", &find, "read"_a)
        .def("__getstate__", [](const Cut& self) { return plan_text(self.plan); })
        .def("__setstate__", [](Cut& self, const std::string& text) { new (&self) Cut{parse_plan_text(text)}; });

    nb::class_<RangePlan>(module, "RangePlan")
        .def_ro("header_size", &RangePlan::header_size)
        .def_prop_ro("records",
                     [](const RangePlan& self) {
                         const bool has_header = self.header != HeaderMode::kNone;
                         return self.findings.records - self.findings.records_before_data(has_header);
                     })
        .def_prop_ro("cuts", &cuts_of);

    module.def("scan", &scan, "buffer"_a, "start"_a, "settings"_a);
    module.def("scan_bytes", &scan_bytes, "buffer"_a, "state"_a.none(), "settings"_a);
    module.def("plan", &plan, "summaries"_a, "input_size"_a, "n"_a.none(), "records"_a.none(), "has_header"_a,
               "allow_open_quote"_a);
}

}  // namespace cleave::python
