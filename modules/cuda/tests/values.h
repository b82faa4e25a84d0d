// Columns for tests and their expected results, from code that shares nothing with the module.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "cuda/bench/host_strings.h"

namespace cleave::cuda {

struct People {
    std::vector<HostValue> names;
    std::vector<HostValue> visibilities;
};

// The number of bytes in the first character of the non-empty string, found by decoding it and encoding the result.
inline std::size_t first_character(const std::string& text) {
    for (std::size_t size = 2; size <= 4 && size <= text.size(); ++size) {
        const auto byte = [&](std::size_t i) {
            return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i]));
        };
        std::uint32_t code = byte(0) & (0x7FU >> size);
        for (std::size_t i = 1; i < size; ++i) code = code << 6 | (byte(i) & 0x3F);
        std::string encoded(1, static_cast<char>(0xF00U >> size | code >> 6 * (size - 1)));
        for (std::size_t i = 1; i < size; ++i) {
            encoded += static_cast<char>(0x80 | (code >> 6 * (size - 1 - i) & 0x3F));
        }
        const std::uint32_t lowest = size == 2 ? 0x80 : size == 3 ? 0x800 : 0x10000;
        const bool is_scalar = code >= lowest && code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
        if (is_scalar && text.compare(0, size, encoded) == 0) return size;
    }
    return 1;
}

// Applies the published example.
inline HostValue redacted(const HostValue& name, const HostValue& visibility) {
    if (!name) return {};
    const std::size_t space = name->find(' ');
    if (visibility != "public" || space == std::string::npos || space == 0) return "X X";
    const std::string last = name->substr(space + 1);
    if (last.empty()) return "X X";
    return last.substr(0, first_character(last)) + " " + name->substr(0, space);
}

inline std::vector<HostValue> redacted(const People& people) {
    std::vector<HostValue> result;
    result.reserve(people.names.size());
    for (std::size_t i = 0; i < people.names.size(); ++i) {
        result.push_back(redacted(people.names[i], people.visibilities[i]));
    }
    return result;
}

// Rows of every kind. One in `null_every` is null; with 0, none is.
inline People make_people(std::size_t rows, std::uint64_t seed, std::uint64_t null_every = 0) {
    static const std::vector<std::string> kVisibilities{
        "public", "public",  "public",      "private", "",
        "PUBLIC", "public ", "publicity",   "publi",   std::string("pub\0ic", 6),
        "public", "not",     "public:none", "publik",  "qublic"};
    static const std::vector<std::string> kPieces{
        "A", "b", " ", "é", "ß", "日", "😀", "\xC3", "\xFF", "\xED\xA0\x80", "xyz", " ", "O'Neill", "\x80", "\xF0\x9F"};
    static const std::vector<std::string> kFirst{"Ada", "Bo", "Chrysanthemum", "D", "Élodie", "花子", "Jean-Baptiste"};
    static const std::vector<std::string> kLast{"Nguyen", "Ö", "Ünal", "van der Berg", "山田", "Q", "😀smile"};
    std::mt19937_64 random(seed);
    const auto pick = [&](const auto& list) { return list[random() % list.size()]; };
    People people;
    for (std::size_t i = 0; i < rows; ++i) {
        std::string name;
        switch (random() % 8) {
            case 0: break;
            case 1: name = pick(kFirst); break;
            case 2: name = " " + pick(kLast); break;
            case 3: name = pick(kFirst) + " "; break;
            case 4:
                for (std::uint64_t k = random() % 12; k > 0; --k) name += pick(kPieces);
                break;
            default: name = pick(kFirst) + " " + pick(kLast);
        }
        people.names.emplace_back(name);
        people.visibilities.emplace_back(pick(kVisibilities));
        if (null_every != 0 && random() % null_every == 0) people.names.back().reset();
        if (null_every != 0 && random() % null_every == 0) people.visibilities.back().reset();
    }
    return people;
}

}  // namespace cleave::cuda
