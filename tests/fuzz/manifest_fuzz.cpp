// Reading manifests back: the file may hold any bytes. A difference is reported if and only if the two manifests have
// different contents.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "choices.h"
#include "engine/manifest.h"
#include "engine/plan_json.h"

namespace cleave::test {
namespace {

using nlohmann::ordered_json;

std::string make_manifest(Choices& choices) {
    InputFacts facts;
    facts.path = choices.text(choices.below(10));
    facts.size = choices.number();
    facts.mtime_ns = static_cast<std::int64_t>(choices.number());
    facts.dialect = choices.dialect();
    facts.header = choices.header_mode();
    facts.header_size = choices.byte();
    PlanJson plan;
    Piece piece;
    for (std::size_t left = choices.below(4); left > 0; --left) {
        piece.length = choices.number();
        if (choices.one_in(2)) {
            PieceFile file{choices.text(choices.below(8)), {}};
            file.result.size = choices.number();
            if (choices.one_in(2)) file.result.stored = choices.number();
            if (choices.one_in(2)) file.result.crc32c = static_cast<std::uint32_t>(choices.number());
            plan.add(piece, file);
        } else {
            plan.add(piece);
        }
        ++piece.number;
    }
    return plan.text(facts);
}

// Leaves out the parts of a manifest that describe finished pieces.
std::string plan_of(ordered_json json) {
    if (json.is_object() && json.contains("pieces")) {
        for (ordered_json& piece : json["pieces"]) {
            if (!piece.is_object()) continue;
            piece.erase("stored");
            piece.erase("crc32c");
        }
    }
    return json.dump();
}

void fuzz(Choices choices) {
    const std::string manifest = make_manifest(choices);
    EXPECT_EQ(manifest_difference(manifest, manifest), std::nullopt);
    // The manifest with a part of it replaced, or entirely different bytes.
    const std::string other = choices.text(300);
    std::string there = manifest;
    there.replace(other.size() % (there.size() + 1), choices.one_in(4) ? std::string::npos : other.size(), other);
    const bool differs = manifest_difference(there, manifest).has_value();
    const ordered_json json = ordered_json::parse(there, nullptr, false);
    // Compared as strings: nlohmann's values 1.0 and 1 are equal, but no manifest contains 1.0.
    EXPECT_EQ(differs, json.is_discarded() || plan_of(json) != plan_of(ordered_json::parse(manifest))) << there;
}

}  // namespace
}  // namespace cleave::test

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    cleave::test::fuzz(cleave::test::Choices({data, size}));
    return 0;
}
