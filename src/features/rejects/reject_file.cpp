#include "features/rejects/reject_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/text_bytes.h"
#include "base/utf8.h"
#include "core/reader/location.h"

namespace cleave {
namespace {

constexpr std::size_t kMostKept = std::size_t{64} << 10;
constexpr const char* kOtherFile = "not a file of rejected records";
constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// Base64 (RFC 4648, section 4).
std::string base64_of(std::span<const std::uint8_t> bytes) {
    std::string text;
    const auto byte = [&](std::size_t at) { return at < bytes.size() ? std::uint32_t{bytes[at]} : 0; };
    for (std::size_t at = 0; at < bytes.size(); at += 3) {
        const std::uint32_t bits = byte(at) << 16U | byte(at + 1) << 8U | byte(at + 2);
        for (const unsigned shift : {18U, 12U, 6U, 0U}) text += kDigits[bits >> shift & 63U];
    }
    const std::size_t padding = (3 - bytes.size() % 3) % 3;
    return text.replace(text.size() - padding, padding, padding, '=');
}

std::optional<std::string> read_base64(std::string_view text) {
    std::string bytes;
    std::uint32_t bits = 0;
    const std::size_t digits = std::min(text.find('='), text.size());
    if (text.size() % 4 != 0 || text.size() - digits > 2) return std::nullopt;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const std::size_t digit = i < digits ? kDigits.find(text[i]) : 0;
        if (digit == std::string_view::npos || (i >= digits && text[i] != '=')) return std::nullopt;
        bits = bits << 6U | static_cast<std::uint32_t>(digit);
        if (i % 4 == 3) {
            for (const unsigned shift : {16U, 8U, 0U}) bytes += static_cast<char>(bits >> shift);
        }
    }
    bytes.resize(bytes.size() - (text.size() - digits));
    return bytes;
}

}  // namespace

RejectFile::RejectFile(const RejectOptions& options, const Input& input, std::vector<std::uint8_t> header)
    : input_(input), path_(options.path), header_(std::move(header)) {
    if (path_.empty()) return;
    const std::string folder(folder_of(path_));
    if (options.makes_folder && ::mkdir(folder.c_str(), 0777) == 0) made_folder_ = folder;
    file_.emplace(path_, input, options.replaces);
}

RejectFile::~RejectFile() {
    file_.reset();
    if (!made_folder_.empty()) ::rmdir(made_folder_.c_str());
}

void RejectFile::add_bytes(const std::string& name, const std::string& encoded, std::span<const std::uint8_t> bytes) {
    const std::string_view view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    text_ +=
        is_utf8(bytes) ? ",\"" + name + "\":" + Json(view).text() : ",\"" + encoded + "\":\"" + base64_of(bytes) + '"';
}

void RejectFile::add(const Reject& reject, const Text* text, const std::string& input) {
    text_ += input.empty() ? "{" : "{\"input\":" + Json(input).text() + ",";
    text_ += "\"byte\":" + std::to_string(reject.offset) + ",\"size\":" + std::to_string(reject.size) +
             ",\"record\":" + std::to_string(reject.record + 1) + ",\"reason\":" + Json(reject.reason).text();
    std::vector<std::uint8_t> bytes;
    const bool is_large = reject.kind == RejectKind::kSize;
    if (text != nullptr && is_large) text_ += R"(,"base64":")";
    if (text != nullptr)
        (*text)([&](std::span<const std::uint8_t> part) {
            bytes.insert(bytes.end(), part.begin(), part.end());
            if (!is_large) return;
            const auto whole = bytes.size() - bytes.size() % 3;  // so that nothing is padded
            text_ += base64_of(std::span(bytes).first(whole));
            bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(whole));
            flush();
        });
    if (text == nullptr) {
        header_.clear();
    } else if (is_large) {
        text_ += base64_of(bytes) + '"';
    } else {
        add_bytes("text", "base64", bytes);
    }
    if (!header_.empty()) add_bytes("header", "header_base64", std::exchange(header_, {}));
    text_ += "}\n";
    if (text_.size() >= kMostKept) flush();
}

void RejectFile::flush() {
    const auto bytes = bytes_of(text_);
    sum_.add(bytes);
    size_ += bytes.size();
    if (file_ && file_->is_stream()) write_all(file_->descriptor(), bytes, path_, input_.cancellation());
    if (file_ && !file_->is_stream()) lines_.append(bytes);
    text_.clear();
}

void RejectFile::publish() {
    flush();
    if (!file_) return;
    lines_.for_each_part([&](auto bytes) { write_all(file_->descriptor(), bytes, path_, input_.cancellation()); });
    file_->publish();
}

void RejectFile::commit() noexcept {
    made_folder_.clear();
    if (file_) file_->commit();
}

ListedReject reject_of_line(std::string_view line) {
    const std::optional<Json> json = parse_json(line);
    const auto text_in = [&](const char* name, const char* encoded) -> std::optional<std::string> {
        const Json* const text = json->find(name);
        if (text != nullptr && text->string() != nullptr) return *text->string();
        const Json* const base64 = json->find(encoded);
        if (base64 == nullptr || base64->string() == nullptr) return std::nullopt;
        std::optional<std::string> bytes = read_base64(*base64->string());
        if (!bytes) throw InputError(kOtherFile);
        return bytes;
    };
    const auto natural_in = [&](const char* name) {
        const Json* const number = json->find(name);
        if (number == nullptr || !number->natural()) throw InputError(kOtherFile);
        return *number->natural();
    };
    if (!json || json->object() == nullptr) throw InputError(kOtherFile);
    const std::uint64_t byte = natural_in("byte");
    const std::uint64_t size = natural_in("size");
    const auto text = text_in("text", "base64");
    if (!text) throw InputError("it does not show the records, because of the rules");
    if (text->size() != size) throw InputError("a record in it is not as large as it says");
    return {byte, text_in("header", "header_base64").value_or(""), *text};
}

}  // namespace cleave
