#include <cstddef>
#include <cstdint>
#include <string_view>

#include "features/redact/stage/forbidden/forbidden.h"
#include "features/redact/stage/forbidden/text.h"

namespace cleave {
namespace {

// The countries and the sizes of their account numbers, from the registry of ISO 13616, release 99.
constexpr std::string_view kSizes =
    "AD24AE23AL28AT20AZ28BA20BE16BG22BH22BI27BR29BY28CH21CR22CY28CZ24DE22DJ27DK18DO28EE20EG29ES24FI18FK18FO18FR27GB22"
    "GE22GI23GL18GR27GT28HN28HR21HU28IE22IL23IQ23IS26IT27JO30KW30KZ20LB28LC32LI21LT20LU20LV21LY25MC27MD24ME22MK19MN20"
    "MR27MT31MU30NI28NL18NO15OM23PK24PL28PS29PT25QA29RO24RS22RU33SA24SC31SD18SE24SI19SK24SM27SO23ST25SV28TL23TN24TR26"
    "UA29VA22VG24XK20YE30";
constexpr std::size_t kEntry = 4;

std::uint8_t upper(std::uint8_t byte) { return is_letter(byte) ? static_cast<std::uint8_t>(byte & ~0x20) : byte; }

// 0 for an unknown country.
std::size_t size_of_country(std::uint8_t first, std::uint8_t second) {
    for (std::size_t i = 0; i < kSizes.size(); i += kEntry) {
        if (kSizes[i] != static_cast<char>(first) || kSizes[i + 1] != static_cast<char>(second)) continue;
        return 10 * static_cast<std::size_t>(kSizes[i + 2] - '0') + static_cast<std::size_t>(kSizes[i + 3] - '0');
    }
    return 0;
}

// Appends a digit, or a letter as the number from 10 to 35, to a number of which only the remainder of 97 is kept.
unsigned appended(unsigned remainder, std::uint8_t byte) {
    return is_digit(byte) ? (10 * remainder + byte - '0') % 97 : (100 * remainder + byte - 'A' + 10) % 97;
}

// Whether an account number begins at `at`, at a letter with no letter or digit before it. The country and the check
// number come last in the number whose remainder of 97 must be 1.
bool has_iban_at(const std::uint8_t* at, const std::uint8_t* end) {
    constexpr std::size_t kHead = 4;
    std::uint8_t head[kHead] = {};
    std::size_t size = kHead;
    unsigned remainder = 0;
    for (std::size_t i = 0; i < size; ++i) {
        if (i > 0) at += separator_size(at, end);
        if (at == end || !is_letter_or_digit(*at)) return false;
        const std::uint8_t byte = upper(*at++);
        if (i >= kHead) {
            remainder = appended(remainder, byte);
            continue;
        }
        head[i] = byte;
        if (is_digit(byte) != (i >= 2)) return false;
        if (i == 1) size = size_of_country(head[0], head[1]);
        if (size == 0) return false;
    }
    for (const std::uint8_t byte : head) remainder = appended(remainder, byte);
    return remainder == 1 && (at == end || !is_letter_or_digit(*at));
}

}  // namespace

bool has_iban(Value value) noexcept {
    const std::uint8_t* const end = value.data + value.size;
    bool is_behind_word = false;
    for (const std::uint8_t* at = value.data; at != end; ++at) {
        if (!is_behind_word && is_letter(*at) && has_iban_at(at, end)) return true;
        is_behind_word = is_letter_or_digit(*at);
    }
    return false;
}

}  // namespace cleave
