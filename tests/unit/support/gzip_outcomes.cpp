#include "gzip_outcomes.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>

#include "cleave/error.h"
#include "features/compressed/inflate/gzip_reader.h"
#include "features/compressed/inflate/parallel_gzip.h"
#include "inputs.h"

namespace cleave::test {

using Verdict = GzipOutcome::Verdict;

namespace {

void append_places(std::span<const PassedPlace> places, std::size_t text, std::uint64_t bit,
                   std::vector<PassedPlace>* into) {
    if (into == nullptr) return;
    for (const PassedPlace& place : places) into->push_back({text + place.at, bit + place.bit, place.is_in_member});
}

}  // namespace

GzipOutcome outcome_in_order(std::string_view stream, std::size_t step, std::vector<PassedPlace>* places) {
    GzipReader reader;
    GzipOutcome outcome;
    std::size_t taken = 0;
    for (std::size_t given = 0;;) {
        auto from = bytes_of(stream).subspan(taken, given - taken);
        try {
            const auto bytes = reader.decode(from);
            append_places(reader.places(), outcome.text.size(), taken * std::uint64_t{8}, places);
            taken = given - from.size();
            outcome.text.append(bytes.begin(), bytes.end());
            if (!bytes.empty()) continue;
        } catch (const InputError&) {
            append_places(reader.places(), outcome.text.size(), taken * std::uint64_t{8}, places);
            outcome.verdict = Verdict::kCorrupt;
            outcome.place = given - from.size();
            return outcome;
        }
        if (given == stream.size()) break;
        given = std::min(stream.size(), given + step);
    }
    if (reader.is_whole()) return outcome;
    outcome.verdict = Verdict::kTooShort;
    outcome.place = stream.size();
    return outcome;
}

GzipOutcome outcome_on_threads(std::string_view stream, const GzipWay& way, std::vector<PassedPlace>* places) {
    std::size_t given = 0;
    ParallelGzip gzip(
        std::make_unique<GzipReader>(),
        [&](std::span<std::uint8_t> into) {
            const std::size_t size = std::min(into.size(), stream.size() - given);
            std::memcpy(into.data(), stream.data() + given, size);
            given += size;
            return size;
        },
        way.threads, way.chunk);
    GzipOutcome outcome;
    try {
        for (bool is_end = false; !is_end;) {
            const auto bytes = gzip.read();
            append_places(gzip.places(), outcome.text.size(), 0, places);
            outcome.text.append(bytes.begin(), bytes.end());
            is_end = bytes.empty();
        }
    } catch (const InputError&) {
        append_places(gzip.places(), outcome.text.size(), 0, places);
        outcome.verdict = Verdict::kCorrupt;
        outcome.place = gzip.place();
        return outcome;
    }
    if (gzip.is_whole()) return outcome;
    outcome.verdict = Verdict::kTooShort;
    outcome.place = gzip.place();
    return outcome;
}

}  // namespace cleave::test
