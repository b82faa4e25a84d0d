// Guesses the encoding of text without a byte order mark. A wrong guess costs more than none: a few wrong letters in
// names are found late or never. So the text is
//
//   UTF-16         if its NULs say so; see foreign_format()
//   UTF-8          if it is valid
//   windows-1252   if each byte above ASCII is a letter of a word or a sign where signs stand, and the letters that
//                  others have in windows-1250 or 1257 stand where the languages of Western Europe have them: "ø" is
//                  between consonants in "Søren", where Czech has "ř" before a vowel
//
// or else not known. Icelandic is never recognised, because windows-1254 has Turkish letters in place of its own.
#include <algorithm>
#include <string>
#include <string_view>

#include "cleave/error.h"
#include "cleave/foreign.h"
#include "features/compressed/text_decoder.h"

namespace cleave {
namespace {

// What windows-1252 has at the bytes 80 to FF: L and l are letters. Letters may not be next to the signs s and r,
// before o, behind p, nor on both sides of e. a, d and m are the apostrophe, dashes and the middle dot. There is some
// doubt about r, which is rare, about letters on both sides of n and d, and about q behind a word. ! is undefined, or
// speaks for another set.
constexpr std::string_view kClasses =
    "s!oroerrrsLoL!L!!eaeeeddrplpl!lL"
    "nors!rrsroqernpresqqrormrqqessso"
    "LLLLLLLLLLLLLLLL!LLLLLLsLLLLL!!l"
    "llllllllllllllll!llllllrlllll!!l";
static_assert(kClasses.size() == 0x80);

using Bytes = std::span<const std::uint8_t>;

char class_of(std::uint8_t byte) {
    if (byte >= 0x80) return kClasses[byte - 0x80U];
    if (byte >= 'A' && byte <= 'Z') return 'L';
    return byte >= 'a' && byte <= 'z' ? 'l' : ' ';
}
bool is_upper(std::uint8_t byte) { return class_of(byte) == 'L'; }
bool is_lower(std::uint8_t byte) { return class_of(byte) == 'l'; }
bool is_letter(std::uint8_t byte) { return is_upper(byte) || is_lower(byte); }

std::uint8_t lower(std::uint8_t byte) {
    if (byte == 0x9F) return 0xFF;
    return is_upper(byte) ? static_cast<std::uint8_t>(byte + (byte >= 0x80 && byte < 0xA0 ? 0x10 : 0x20)) : byte;
}

bool is_one_of(std::uint8_t byte, std::string_view bytes) {
    return bytes.find(static_cast<char>(byte)) != std::string_view::npos;
}

bool is_vowel(std::uint8_t byte) {
    const std::uint8_t low = lower(byte);
    return low >= 0x80 ? !is_one_of(low, "\xE7\xF1\xDF\x9A\x9E") : low != 0 && is_one_of(low, "aeiouy");
}

enum class Fit : std::uint8_t { kYes, kOpen, kNo };

// Of a letter, in lower case, that is another one in windows-1250 or 1257; 0 stands for the end of the word. Of other
// letters kOpen.
Fit fit_of(std::uint8_t letter, std::uint8_t before, std::uint8_t after) {
    const bool has_plain_before = before != 0 && (!is_vowel(before) || is_one_of(lower(before), "iu"));
    const auto fits_if = [](bool fits) { return fits ? Fit::kYes : Fit::kNo; };
    switch (letter) {
        case 0xE0: return fits_if(after == 0 || lower(after) == 's');                                    // à
        case 0xE8: return fits_if(has_plain_before && !is_vowel(after));                                 // è
        case 0xEA: return fits_if((before == 0 || has_plain_before) && after != 0 && !is_vowel(after));  // ê
        case 0xEC:                                                                                       // ì
        case 0xF2:                                                                                       // ò
        case 0xF9: return fits_if(after == 0);                                                           // ù
        case 0xEF: return fits_if(before != 0 && is_vowel(before));                                      // ï
        case 0xF1: return fits_if(is_vowel(after));                                                      // ñ
        case 0xE7: return after == 0 || is_vowel(after) ? Fit::kOpen : Fit::kNo;                         // ç
        case 0xEB: return is_vowel(before) ? Fit::kOpen : Fit::kNo;                                      // ë
        case 0xE3: return fits_if(is_one_of(lower(after), "oe"));                                        // ã
        case 0xF5: return fits_if(lower(after) == 'e');                                                  // õ
        case 0xE5: return Fit::kYes;                                                                     // å
        case 0xE6: return fits_if(before == 0 || !is_vowel(before));                                     // æ
        case 0xF8: return fits_if((before == 0 || !is_vowel(before)) && !is_vowel(after));               // ø
        case 0xFB: return fits_if(lower(before) == 'o');                                                 // û
        case 0x9C: return fits_if(is_one_of(lower(after), "ui"));                                        // œ
        case 0xE1: return is_one_of(lower(before), "aeo") ? Fit::kNo : Fit::kOpen;                       // ß in cp437
        case 0x9A:
        case 0x9E:
        case 0xFF: return Fit::kNo;
        default: return Fit::kOpen;
    }
}

// Whether two letters above ASCII may be neighbours: double ones, "üß", "ção", "äö".
bool may_follow(std::uint8_t letter, std::uint8_t before) {
    constexpr std::string_view kNordic = "\xE4\xE5\xE6\xF6\xF8";
    return letter == before || letter == 0xDF || before == 0xE7 ||
           (is_one_of(letter, kNordic) && is_one_of(before, kNordic));
}

// The candidates where text is neither UTF-8 nor windows-1252.
struct Candidates {
    const char* names[2];
};
constexpr Candidates kUnclear = {{"windows-1252", "windows-1250"}};
constexpr Candidates kOtherScript = {{"windows-1251", "koi8-r"}};
constexpr Candidates kTurkish = {{"windows-1252", "windows-1254"}};
constexpr Candidates kOldMachine = {{"cp850", "mac-roman"}};

[[noreturn]] void give_up(const Candidates& candidates, std::size_t byte) {
    throw InputError("its encoding cannot be told (byte " + std::to_string(byte) + "): perhaps " + candidates.names[0] +
                     " or " + candidates.names[1]);
}

// Throws if the text is not clearly windows-1252.
class Doubter {
public:
    explicit Doubter(Bytes text) : text_(text) {}

    void judge(std::size_t end) {
        for (std::size_t i = 0; i < end;) {
            const std::size_t begin = i;
            while (i < text_.size() && is_letter(text_[i])) ++i;
            if (i > begin) {
                judge_word(begin, i);
            } else {
                judge_sign(i++);
            }
        }
        constexpr std::size_t kLeastRatio = 8;
        if (misfits_ > 0 && misfits_ * kLeastRatio > fits_) give_up(kUnclear, first_misfit_);
    }

private:
    std::uint8_t at(std::size_t i) const { return i < text_.size() ? text_[i] : 0; }  // also before the beginning
    bool has_letter(std::size_t i) const { return is_letter(at(i)); }
    void doubt(std::size_t i) {
        if (misfits_++ == 0) first_misfit_ = i;
    }
    void judge_word(std::size_t begin, std::size_t end);
    void judge_letter(std::size_t i, std::uint8_t before, std::uint8_t after);
    void judge_sign(std::size_t i);
    bool is_apostrophe(std::size_t i) const;

    const Bytes text_;
    std::size_t fits_ = 0;
    std::size_t misfits_ = 0;
    std::size_t first_misfit_ = 0;
};

void Doubter::judge_word(std::size_t begin, std::size_t end) {
    const Bytes word = text_.subspan(begin, end - begin);
    const auto is_high = [](std::uint8_t byte) { return byte >= 0x80; };
    const auto high = static_cast<std::size_t>(std::ranges::count_if(word, is_high));
    if (high == 0) return;
    constexpr std::size_t kLongestRun = 2;
    std::size_t run = 0;
    for (const std::uint8_t byte : word) {
        run = is_high(byte) ? run + 1 : 0;
        if (run > kLongestRun || (high == word.size() && high > 1)) give_up(kOtherScript, begin);
    }
    if (word.size() == 1) {
        if (!is_one_of(word[0], "\xE9\xE0\xE8\xE5\xF6\xF3\xC0\xC8")) doubt(begin);
        return;
    }
    for (std::size_t i = begin; i < end; ++i) {
        if (is_high(text_[i])) judge_letter(i, i > begin ? text_[i - 1] : 0, i + 1 < end ? text_[i + 1] : 0);
    }
}

void Doubter::judge_letter(std::size_t i, std::uint8_t before, std::uint8_t after) {
    if (is_upper(text_[i]) && before != 0 && (is_lower(before) || is_lower(after))) give_up(kOldMachine, i);
    const std::uint8_t letter = lower(text_[i]);
    const Fit fit = fit_of(letter, before, after);
    const bool is_odd = (is_lower(text_[i]) && text_[i] != 0xDF && is_upper(before) && is_upper(after)) ||
                        (before >= 0x80 && !may_follow(letter, lower(before)));
    if (is_odd || fit == Fit::kNo) doubt(i);
    if (!is_odd && fit == Fit::kYes) ++fits_;
}

// Between letters: "don't", "l'eau", "qu'il", "dell'arte".
bool Doubter::is_apostrophe(std::size_t i) const {
    const std::uint8_t before = lower(at(i - 1));
    const bool is_after_one = !has_letter(i - 2) && is_one_of(before, "cdjlmnst");
    const bool is_after_two = (before == 'u' && lower(at(i - 2)) == 'q') || (before == 'l' && at(i - 2) == 'l');
    const bool is_short = !has_letter(i + 2) && is_one_of(lower(at(i + 1)), "stdm");
    const std::string_view two(reinterpret_cast<const char*>(text_.data()) + i + 1, i + 2 < text_.size() ? 2 : 0);
    return is_after_one || is_after_two || is_short ||
           ((two == "ll" || two == "re" || two == "ve") && !has_letter(i + 3));
}

void Doubter::judge_sign(std::size_t i) {
    const char sign = class_of(text_[i]);
    const bool before = has_letter(i - 1);
    const bool after = has_letter(i + 1);
    bool is_wrong = false;
    switch (sign) {
        case '!': is_wrong = true; break;
        case 'r':
        case 's': is_wrong = before || after; break;
        case 'o': is_wrong = before; break;
        case 'p':
        case 'q': is_wrong = after; break;
        case 'e': is_wrong = before && after; break;
        case 'a': is_wrong = before && after && !is_apostrophe(i); break;
        case 'd': is_wrong = before && after && (!has_letter(i - 2) || !has_letter(i + 2)); break;
        case 'm': is_wrong = before && after && (lower(at(i - 1)) != 'l' || lower(at(i + 1)) != 'l'); break;
        default: is_wrong = text_[i] < ' ' && !is_one_of(text_[i], "\t\n\v\f\r\x1A");
    }
    if (is_wrong && text_[i] >= 0xC0) give_up(at(i - 1) >= 0x80 || at(i + 1) >= 0x80 ? kOtherScript : kTurkish, i);
    if (is_wrong) give_up(kOldMachine, i);
    const bool is_between = before && after;
    const bool is_behind_word = before && has_letter(i - 2) && at(i - 1) != 'm';
    if (sign == 'r' || ((sign == 'n' || sign == 'd') && is_between) || (sign == 'q' && is_behind_word)) doubt(i);
}

// Text in UTF-16 has most of its NULs in every other byte: those of ASCII characters.
bool has_nuls_of_utf16(Bytes text) {
    std::size_t nuls[2] = {};
    for (std::size_t i = 0; i < text.size(); ++i) nuls[i % 2] += static_cast<std::size_t>(text[i] == 0);
    constexpr std::size_t kLeastShare = 50;
    const std::size_t all = nuls[0] + nuls[1];
    return all > 1 && all * kLeastShare >= text.size() && (nuls[0] == 0 || nuls[1] == 0);
}

}  // namespace

Encoding guess_encoding(Bytes head, bool is_whole) {
    if (const auto foreign = foreign_format(head)) return foreign->encoding;  // kBytes: it will be refused
    if (has_nuls_of_utf16(head)) give_up({{"utf-16le", "utf-16be"}}, 0);
    const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
    for (const std::string_view shift : {"\x1B$", "\x1B("}) {
        if (const auto at = text.find(shift); at != std::string_view::npos) give_up({{"iso2022_jp", "iso2022_kr"}}, at);
    }
    const ValidUtf8 valid = valid_utf8(head);
    if (valid.size == head.size() || (valid.is_cut && !is_whole)) return Encoding::kUtf8;
    const auto is_high = [](std::uint8_t byte) { return byte >= 0x80; };
    if (std::ranges::any_of(head.first(valid.size), is_high)) give_up({{"damaged utf-8", "windows-1252"}}, valid.size);
    // The last word may not be all there.
    std::size_t end = head.size();
    while (!is_whole && end > 0 && is_letter(head[end - 1])) --end;
    Doubter(head).judge(end);
    return encoding_named("windows-1252");
}

}  // namespace cleave
