#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/text_in_place.h"
#include "stage/forbidden/forbidden.h"
#include "stage/forbidden/text.h"

namespace cleave {
namespace {

enum class Alphabet : std::uint8_t {
    kUpper,   // A-Z 0-9
    kWord,    // A-Z a-z 0-9
    kBase64,  // A-Z a-z 0-9 _ -
    kDotted,  // the same and dots
};

// A secret begins with `prefix`; then follow from `least` to `most` characters.
struct Form {
    TextInPlace<24> prefix;
    Alphabet alphabet;
    std::uint16_t least;
    std::uint16_t most;
};

// Sources: the documentation of each service, as far as it states the form. All of them are made to be found.
constexpr std::uint16_t kAny = UINT16_MAX;
constexpr Form kForms[] = {
    {"AKIA", Alphabet::kUpper, 16, 16},              // Amazon: the id of an access key
    {"ASIA", Alphabet::kUpper, 16, 16},              // Amazon: a temporary one
    {"AIza", Alphabet::kBase64, 35, 35},             // Google: an API key
    {"AGE-SECRET-KEY-1", Alphabet::kUpper, 58, 58},  // age
    {"SG.", Alphabet::kDotted, 66, 66},              // SendGrid
    {"dckr_pat_", Alphabet::kBase64, 27, 27},        // Docker
    {"eyJ", Alphabet::kDotted, 60, kAny},            // JSON Web Token (RFC 7519): {" in base64url
    {"gho_", Alphabet::kWord, 36, 36},               // GitHub
    {"ghp_", Alphabet::kWord, 36, 36},
    {"ghr_", Alphabet::kWord, 36, 76},
    {"ghs_", Alphabet::kWord, 36, 36},
    {"ghu_", Alphabet::kWord, 36, 36},
    {"github_pat_", Alphabet::kBase64, 82, 82},
    {"glpat-", Alphabet::kDotted, 20, kAny},                // GitLab
    {"hf_", Alphabet::kWord, 34, 34},                       // Hugging Face
    {"npm_", Alphabet::kWord, 36, 36},                      // npm
    {"pypi-AgEIcHlwaS5vcmc", Alphabet::kBase64, 50, kAny},  // PyPI: a macaroon of pypi.org
    {"rk_live_", Alphabet::kWord, 24, kAny},                // Stripe
    {"sk_live_", Alphabet::kWord, 24, kAny},
    {"sk-ant-", Alphabet::kBase64, 80, kAny},   // Anthropic
    {"sk-proj-", Alphabet::kBase64, 40, kAny},  // OpenAI
    {"xapp-", Alphabet::kBase64, 40, kAny},     // Slack
    {"xoxb-", Alphabet::kBase64, 40, kAny},
    {"xoxp-", Alphabet::kBase64, 40, kAny},
};

bool is_in(Alphabet alphabet, std::uint8_t byte) {
    if (is_digit(byte) || (byte >= 'A' && byte <= 'Z')) return true;
    if (alphabet == Alphabet::kUpper) return false;
    if (is_letter(byte)) return true;
    if (alphabet == Alphabet::kWord) return false;
    return byte == '_' || byte == '-' || (byte == '.' && alphabet == Alphabet::kDotted);
}

bool has_form(const Form& form, std::string_view text) {
    if (!text.starts_with(form.prefix.view())) return false;
    std::size_t count = 0;
    for (const char sign : text.substr(form.prefix.view().size())) {
        if (!is_in(form.alphabet, static_cast<std::uint8_t>(sign))) break;
        ++count;
    }
    return count >= form.least && count <= form.most;
}

// Whether "-----BEGIN ... PRIVATE KEY-----" (RFC 7468) is in the text.
bool has_private_key(std::string_view text) {
    constexpr std::string_view kBegin = "-----BEGIN ";
    constexpr std::string_view kEnd = "PRIVATE KEY-----";
    constexpr std::size_t kMostBetween = 24;  // "ENCRYPTED ", "OPENSSH " and their like
    for (std::size_t at = text.find(kBegin); at != std::string_view::npos; at = text.find(kBegin, at + 1)) {
        const std::string_view rest = text.substr(at + kBegin.size(), kMostBetween + kEnd.size());
        if (rest.find(kEnd) != std::string_view::npos) return true;
    }
    return false;
}

}  // namespace

bool has_secret(Value value) noexcept {
    const std::string_view text(reinterpret_cast<const char*>(value.data), value.size);
    constexpr std::size_t kShortest = 20;  // an access key of Amazon
    if (text.size() < kShortest) return false;
    bool is_behind_word = false;
    for (std::size_t at = 0; at + kShortest <= text.size(); ++at) {
        const auto byte = static_cast<std::uint8_t>(text[at]);
        if (!is_behind_word && is_letter(byte)) {
            for (const Form& form : kForms) {
                if (has_form(form, text.substr(at))) return true;
            }
        }
        is_behind_word = is_letter_or_digit(byte) || byte == '_';
    }
    return has_private_key(text);
}

}  // namespace cleave
