#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "base/text_bytes.h"
#include "features/redact/stage/forbidden/forbidden.h"
#include "features/redact/stage/forbidden/text.h"

namespace cleave {
namespace {

enum class SecretAlphabet : std::uint8_t {
    kUpper,   // A-Z 0-9
    kWord,    // A-Z a-z 0-9
    kBase64,  // A-Z a-z 0-9 _ -
    kDotted,  // the same and dots
};

// A secret begins with `prefix`; then follow at least `least` characters.
struct SecretForm {
    TextInPlace<24> prefix;
    SecretAlphabet alphabet;
    std::uint16_t least;
};

// Sources: the documentation of each service, as far as it states the form. All of them are made to be found.

// The prefixes are so rare in words that they may also follow one.
constexpr SecretForm kMarkedForms[] = {
    {"AGE-SECRET-KEY-1", SecretAlphabet::kUpper, 58},  // age
    {"dckr_pat_", SecretAlphabet::kBase64, 27},        // Docker
    {"gho_", SecretAlphabet::kWord, 36},               // GitHub
    {"ghp_", SecretAlphabet::kWord, 36},
    {"ghr_", SecretAlphabet::kWord, 36},
    {"ghs_", SecretAlphabet::kWord, 36},
    {"ghu_", SecretAlphabet::kWord, 36},
    {"github_pat_", SecretAlphabet::kBase64, 82},
    {"glpat-", SecretAlphabet::kDotted, 20},                // GitLab
    {"hf_", SecretAlphabet::kWord, 34},                     // Hugging Face
    {"npm_", SecretAlphabet::kWord, 36},                    // npm
    {"pypi-AgEIcHlwaS5vcmc", SecretAlphabet::kBase64, 50},  // PyPI: a macaroon of pypi.org
    {"rk_live_", SecretAlphabet::kWord, 24},                // Stripe
    {"sk_live_", SecretAlphabet::kWord, 24},
    {"sk-ant-", SecretAlphabet::kBase64, 80},   // Anthropic
    {"sk-proj-", SecretAlphabet::kBase64, 40},  // OpenAI
    {"xapp-", SecretAlphabet::kBase64, 40},     // Slack
    {"xoxb-", SecretAlphabet::kBase64, 40},
    {"xoxp-", SecretAlphabet::kBase64, 40},
};

// These must not follow a letter or a digit.
constexpr SecretForm kPlainForms[] = {
    {"AKIA", SecretAlphabet::kUpper, 16},   // Amazon: the id of an access key
    {"ASIA", SecretAlphabet::kUpper, 16},   // Amazon: a temporary one
    {"AIza", SecretAlphabet::kBase64, 35},  // Google: an API key
    {"SG.", SecretAlphabet::kDotted, 66},   // SendGrid
    {"eyJ", SecretAlphabet::kDotted, 60},   // JSON Web Token (RFC 7519): {" in base64url
};

bool is_in(SecretAlphabet alphabet, std::uint8_t byte) {
    if (is_digit(byte) || (byte >= 'A' && byte <= 'Z')) return true;
    if (alphabet == SecretAlphabet::kUpper) return false;
    if (is_letter(byte)) return true;
    if (alphabet == SecretAlphabet::kWord) return false;
    return byte == '_' || byte == '-' || (byte == '.' && alphabet == SecretAlphabet::kDotted);
}

bool has_form(const SecretForm& form, std::string_view text) {
    const std::string_view prefix = form.prefix.view();
    // Nearly always one of the first two characters, of which all prefixes have two, differs.
    if (text.size() < prefix.size() + form.least || text[0] != prefix[0] || text[1] != prefix[1]) return false;
    if (!text.starts_with(prefix)) return false;
    text.remove_prefix(prefix.size());
    return std::ranges::all_of(text.substr(0, form.least),
                               [&](char sign) { return is_in(form.alphabet, static_cast<std::uint8_t>(sign)); });
}

// Whether a letter or a digit precedes `at`, unless it belongs to a byte that is written as %XX.
bool is_behind_word(std::string_view text, std::size_t at) {
    if (at == 0 || !is_word(text[at - 1])) return false;
    const bool is_percent = at >= 3 && text[at - 3] == '%' && is_hex(text[at - 2]) && is_hex(text[at - 1]);
    return !is_percent;
}

// Where the first `_` or `-` of each prefix of kMarkedForms is.
constexpr auto kMarks = [] {
    std::array<std::uint8_t, std::size(kMarkedForms)> marks{};
    for (std::size_t i = 0; i < marks.size(); ++i) {
        marks[i] = static_cast<std::uint8_t>(kMarkedForms[i].prefix.view().find_first_of("_-"));
    }
    return marks;
}();

// Whether a form has its first `_` or `-` at `mark`.
bool has_marked_form(std::string_view text, std::size_t mark) {
    for (std::size_t i = 0; i < kMarks.size(); ++i) {
        if (kMarks[i] <= mark && has_form(kMarkedForms[i], text.substr(mark - kMarks[i]))) return true;
    }
    return false;
}

bool has_plain_form(std::string_view text) {
    return std::ranges::any_of(kPlainForms, [&](const SecretForm& form) { return has_form(form, text); });
}

// What to do at a character.
enum class Step : std::uint8_t { kNext, kMark, kBegin };
constexpr auto kStepAt = [] {
    std::array<Step, 256> steps{};
    steps['_'] = steps['-'] = Step::kMark;
    for (const SecretForm& form : kPlainForms) steps[static_cast<std::uint8_t>(form.prefix.view()[0])] = Step::kBegin;
    return steps;
}();

// Whether "-----BEGIN ... PRIVATE KEY-----" (RFC 7468), or the same with "KEY BLOCK" (RFC 4880), is in the text.
bool has_private_key(std::string_view text) {
    constexpr std::string_view kBegin = "-----BEGIN ";
    constexpr std::array<std::string_view, 2> kEnds = {"PRIVATE KEY-----", "PRIVATE KEY BLOCK-----"};
    constexpr std::size_t kMostBetween = 24;  // "ENCRYPTED ", "OPENSSH " and their like
    for (std::size_t at = text.find(kBegin); at != std::string_view::npos; at = text.find(kBegin, at + 1)) {
        const std::string_view rest = text.substr(at + kBegin.size());
        for (const std::string_view end : kEnds) {
            if (rest.substr(0, kMostBetween + end.size()).find(end) != std::string_view::npos) return true;
        }
    }
    return false;
}

}  // namespace

bool has_secret(Value value) noexcept {
    constexpr std::size_t kShortest = 20;  // an access key of Amazon
    const std::string_view text(reinterpret_cast<const char*>(value.data), value.size);
    if (text.size() < kShortest) return false;
    for (std::size_t at = 0; at < text.size(); ++at) {
        switch (kStepAt[static_cast<std::uint8_t>(text[at])]) {
            case Step::kNext: break;
            case Step::kMark:
                if (at > 0 && is_word(text[at - 1]) && has_marked_form(text, at)) return true;
                break;
            case Step::kBegin:
                if (has_plain_form(text.substr(at)) && !is_behind_word(text, at)) return true;
                break;
        }
    }
    return has_private_key(text);
}

}  // namespace cleave
