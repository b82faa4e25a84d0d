#include "features/gpu/explain.h"

#include <algorithm>
#include <cstdint>

namespace cleave::offload {
namespace {

// Formats a number, which must be at least 0, with three digits. Uses integers, because std::to_chars() would make
// every program load the mathematics library.
std::string text_of(double number) {
    const std::size_t decimals = number >= 100 ? 0 : number >= 10 ? 1 : 2;
    const double scale = number >= 100 ? 1 : number >= 10 ? 10 : 100;
    constexpr double kMost = 1e19;  // fits into an integer
    std::string digits = std::to_string(static_cast<std::uint64_t>(std::clamp(number * scale + 0.5, 0.0, kMost)));
    if (decimals == 0) return digits;
    if (digits.size() <= decimals) digits.insert(0, decimals + 1 - digits.size(), '0');
    return digits.insert(digits.size() - decimals, ".");
}

}  // namespace

std::string text_of_seconds(double seconds) {
    if (seconds >= 1) return text_of(seconds) + " s";
    if (seconds >= 1e-3) return text_of(seconds * 1e3) + " ms";
    return text_of(seconds * 1e6) + " us";
}

std::string text_of_bytes(std::uint64_t bytes) {
    const auto number = static_cast<double>(bytes);
    if (bytes >= std::uint64_t{1} << 30) return text_of(number / (1 << 30)) + " GiB";
    if (bytes >= std::uint64_t{1} << 20) return text_of(number / (1 << 20)) + " MiB";
    if (bytes >= std::uint64_t{1} << 10) return text_of(number / (1 << 10)) + " KiB";
    return std::to_string(bytes) + " B";
}

std::string explain(std::span<const std::string> remarks, std::span<const NodeReport> report) {
    std::string text;
    for (const std::string& remark : remarks) text += remark + '\n';
    for (const NodeReport& node : report) {
        text += node.name + (node.side == Side::kDevice ? ": device" : ": host");
        text += node.predicted ? ", predicted " + text_of_seconds(*node.predicted) : ", not predicted";
        text += ", took " + text_of_seconds(node.taken);
        if (node.bytes_in > 0) text += ", " + text_of_bytes(node.bytes_in) + " in";
        if (node.bytes_out > 0) text += ", " + text_of_bytes(node.bytes_out) + " out";
        if (node.pages > 0) text += ", " + std::to_string(node.pages) + (node.pages == 1 ? " page" : " pages");
        if (!node.note.empty()) text += "; " + node.note;
        text += '\n';
    }
    return text;
}

}  // namespace cleave::offload
