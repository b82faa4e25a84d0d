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
#include <utility>

#include "cleave/error.h"
#include "cleave/foreign.h"
#include "features/compressed/text_decoder.h"

namespace cleave {
namespace {

// What windows-1252 has at the bytes 80 to FF: L and l are letters. Letters may not be next to the sign s, before o,
// behind p, nor on both sides of e. q is an exponent or an ordinal, a the apostrophe. ! is undefined, or so rare that
// it speaks for another set.
constexpr std::string_view kClasses =
    "s!o!oe!!!sLoL!L!!eaeeeee!plpl!lL"
    "eo!s!!!s!oqe!ep!esqq!o!e!qqessso"
    "LLLLLLLLLLLLLLLL!LLLLLLsLLLLL!!l"
    "llllllllllllllll!llllll!lllll!!l";
static_assert(kClasses.size() == 0x80);

using Bytes = std::span<const std::uint8_t>;

char class_of(std::uint8_t byte) {
    if (byte >= 0x80) return kClasses[byte - 0x80U];
    if (byte >= 'A' && byte <= 'Z') return 'L';
    return byte >= 'a' && byte <= 'z' ? 'l' : ' ';
}
bool is_upper(std::uint8_t byte) { return class_of(byte) == 'L'; }
bool is_lower(std::uint8_t byte) { return class_of(byte) == 'l'; }
bool is_high(std::uint8_t byte) { return byte >= 0x80; }

std::uint8_t lower(std::uint8_t byte) {
    if (byte == 0x9F) return 0xFF;
    return is_upper(byte) ? static_cast<std::uint8_t>(byte + (byte >= 0x80 && byte < 0xA0 ? 0x10 : 0x20)) : byte;
}

bool is_one_of(std::uint8_t byte, std::string_view bytes) {
    return bytes.find(static_cast<char>(byte)) != std::string_view::npos;
}

enum class Fit : std::uint8_t { kYes, kOpen, kNo };

// Of a letter that is another one in windows-1250 or 1257; 0 stands for the end of the word. Of other letters kOpen.
Fit fit_of(std::uint8_t letter, std::uint8_t before, std::uint8_t after) {
    const auto is_vowel = [](std::uint8_t byte) {
        return byte != 0 && !is_one_of(byte, "bcdfghjklmnpqrstvwxz\xE7\xF1\xDF\x9A\x9E");
    };
    bool fits = false;
    switch (letter) {
        case 0xE0: fits = after == 0 || after == 's'; break;  // à
        case 0xE8: fits = before != 0 && !is_one_of(before, "aeoy") && !is_high(before) && !is_vowel(after); break;
        case 0xEA: fits = (!is_vowel(before) || before == 'u') && after != 0 && !is_vowel(after); break;  // ê
        case 0xEC:                                                                                        // ì
        case 0xF2:                                                                                        // ò
        case 0xF9: fits = after == 0; break;                                                              // ù
        case 0xEB:                                                                                        // ë
        case 0xEF: fits = is_vowel(before); break;                                                        // ï
        case 0xE7: fits = after == 0 || is_vowel(after); break;                                           // ç
        case 0xF1: fits = is_vowel(after); break;                                                         // ñ
        case 0xE3: fits = is_one_of(after, "oe"); break;                                                  // ã
        case 0xF5: fits = after == 'e'; break;                                                            // õ
        case 0xE5: fits = true; break;                                                                    // å
        case 0xE6: fits = !is_vowel(before); break;                                                       // æ
        case 0xF8: fits = !is_vowel(before) && !is_vowel(after); break;                                   // ø
        case 0xFB: fits = before == 'o'; break;                                                           // û
        case 0x9C: fits = is_one_of(after, "ui"); break;                                                  // œ
        case 0xE1: return is_one_of(before, "aeo") ? Fit::kNo : Fit::kOpen;                               // ß in cp437
        case 0x9A:
        case 0x9E:
        case 0xFF: break;
        default: return Fit::kOpen;
    }
    return fits ? Fit::kYes : Fit::kNo;
}

[[noreturn]] void give_up(const char* candidate, const char* other, std::size_t byte) {
    throw InputError("its encoding cannot be told (byte " + std::to_string(byte) + "): perhaps " + candidate + " or " +
                     other);
}

// Throws if text is not clearly windows-1252.
class Doubter {
public:
    explicit Doubter(Bytes text) : text_(text) {}

    void judge(std::size_t end) {
        for (std::size_t i = 0; i < end; ++i) {
            if (letter_at(i) == 0) judge_sign(i);
            if (is_high(letter_at(i))) judge_letter(i);
        }
        constexpr std::size_t kLeastRatio = 8;
        if (misfits_ * kLeastRatio > fits_) give_up("windows-1252", "windows-1250", first_misfit_);
    }

private:
    // 0: none is there, as before the beginning.
    std::uint8_t letter_at(std::size_t i) const {
        return i < text_.size() && (is_upper(text_[i]) || is_lower(text_[i])) ? text_[i] : std::uint8_t{0};
    }
    void judge_letter(std::size_t i);
    void judge_sign(std::size_t i);

    const Bytes text_;
    std::size_t fits_ = 0;
    std::size_t misfits_ = 0;
    std::size_t first_misfit_ = 0;
};

void Doubter::judge_letter(std::size_t i) {
    const std::uint8_t letter = text_[i];
    const std::uint8_t before = letter_at(i - 1);
    const std::uint8_t after = letter_at(i + 1);
    if (is_high(before) && is_high(after)) give_up("windows-1251", "koi8-r", i);
    if (is_upper(letter) && before != 0 && (is_lower(before) || is_lower(after))) give_up("cp850", "mac-roman", i);
    Fit fit = fit_of(lower(letter), lower(before), lower(after));
    const bool is_odd = is_lower(letter) && letter != 0xDF && is_upper(before) && is_upper(after);
    const bool is_pair = letter == before || letter == 0xDF || lower(before) == 0xE7;  // or "üß", "ção"
    if (is_odd || (is_high(before) && !is_pair)) fit = Fit::kNo;
    if (before == 0 && after == 0) fit = is_one_of(letter, "\xE9\xE0\xE8\xE5\xF6\xF3\xC0\xC8") ? Fit::kOpen : Fit::kNo;
    if (fit == Fit::kYes) ++fits_;
    if (fit == Fit::kNo && misfits_++ == 0) first_misfit_ = i;
}

void Doubter::judge_sign(std::size_t i) {
    const std::uint8_t sign = text_[i];
    const std::uint8_t before = letter_at(i - 1);
    const std::uint8_t after = letter_at(i + 1);
    const bool is_between = before != 0 && after != 0;
    bool is_wrong = false;
    switch (class_of(sign)) {
        case '!': is_wrong = true; break;
        case 's': is_wrong = before != 0 || after != 0; break;
        case 'o': is_wrong = before != 0; break;
        case 'p': is_wrong = after != 0; break;
        case 'q': is_wrong = after != 0 || (before != 0 && !is_one_of(before, sign == 0xBA ? "nN" : "m")); break;
        case 'e': is_wrong = is_between; break;
        case 'a':  // "qu'il", "we'll", "dell'arte"
            is_wrong = is_between && lower(before) != 'l' && letter_at(i - 2) != 0 && letter_at(i - 3) != 0 &&
                       letter_at(i + 2) != 0 && letter_at(i + 3) != 0;
            break;
        default: is_wrong = sign < ' ' && !is_one_of(sign, "\t\n\v\f\r\x1A");
    }
    if (!is_wrong) return;
    if (sign < 0xC0) give_up("cp850", "mac-roman", i);
    if (is_high(before) || is_high(after)) give_up("windows-1251", "koi8-r", i);
    give_up("windows-1252", "windows-1254", i);
}

}  // namespace

Encoding guess_encoding(Bytes head, bool is_whole) {
    if (const auto foreign = foreign_format(head)) return foreign->encoding;  // kBytes: it will be refused
    constexpr std::size_t kLeastShare = 50;  // of NULs: those of ASCII characters in UTF-16
    if (std::cmp_greater(std::ranges::count(head, 0), head.size() / kLeastShare)) give_up("utf-16le", "utf-16be", 0);
    const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
    for (const std::string_view shift : {"\x1B$", "\x1B("}) {
        if (const auto at = text.find(shift); at != std::string_view::npos) give_up("iso2022_jp", "iso2022_kr", at);
    }
    const ValidUtf8 valid = valid_utf8(head);
    if (valid.size == head.size() || (valid.is_cut && !is_whole)) return Encoding::kUtf8;
    if (std::ranges::any_of(head.first(valid.size), is_high)) give_up("damaged utf-8", "windows-1252", valid.size);
    // The last word may not be all there.
    std::size_t end = head.size();
    while (!is_whole && end > 0 && class_of(head[end - 1]) != ' ') --end;
    Doubter(head).judge(end);
    return encoding_named("windows-1252");
}

}  // namespace cleave
