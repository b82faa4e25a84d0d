#include "gzip_outcomes.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>

#include "cleave/error.h"
#include "inflate/gzip_reader.h"
#include "inflate/parallel_gzip.h"
#include "inputs.h"

namespace cleave::test {

using Verdict = GzipOutcome::Verdict;

GzipOutcome outcome_in_order(std::string_view stream, std::size_t step) {
    GzipReader reader;
    GzipOutcome outcome;
    std::size_t taken = 0;
    for (std::size_t given = 0;;) {
        auto from = bytes_of(stream).subspan(taken, given - taken);
        try {
            const auto bytes = reader.decode(from);
            taken = given - from.size();
            outcome.text.append(bytes.begin(), bytes.end());
            if (!bytes.empty()) continue;
        } catch (const InputError&) {
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

GzipOutcome outcome_on_threads(std::string_view stream, const GzipWay& way) {
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
        for (auto bytes = gzip.read(); !bytes.empty(); bytes = gzip.read())
            outcome.text.append(bytes.begin(), bytes.end());
    } catch (const InputError&) {
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
