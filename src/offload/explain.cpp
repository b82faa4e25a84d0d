#include "offload/explain.h"

#include <array>
#include <charconv>

namespace cleave::offload {
namespace {

// With three digits.
std::string text_of(double number) {
    std::array<char, 32> text{};
    const int precision = number >= 100 ? 0 : number >= 10 ? 1 : 2;
    const auto [end, error] =
        std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed, precision);
    return error == std::errc() ? std::string(text.data(), end) : "?";
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
