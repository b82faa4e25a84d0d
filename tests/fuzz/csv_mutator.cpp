#include "csv_mutator.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "field_reference.h"
#include "inputs.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace cleave::test {
namespace {

struct Range {
    std::size_t begin;
    std::size_t end;
};

// One change to a non-empty text. The records are those that the reference found before the change.
class Change {
public:
    Change(std::string& text, const Dialect& dialect, Random& random)
        : text_(text), dialect_(dialect), random_(random), records_(read_fields(text, dialect).records) {}

    void make() {
        switch (random_.below(10)) {
            case 0: return insert(record_start(), copy_of(any_record()));
            case 1: return replace(any_record(), "");
            case 2: return replace(any_record(), copy_of(any_record()));
            case 3: return replace(any_field(), copy_of(any_field()));
            case 4: return remove_field();
            case 5: return insert(any_field().end, std::string(1, static_cast<char>(dialect_.delimiter)));
            case 6: return change_quotes();
            case 7: return replace(any_terminator(), terminator());
            case 8: return insert(random_.below(text_.size() + 1), std::string(1, random_.one_of(bytes_with_roles())));
            default: return insert(any_field().begin, std::string(1 + random_.below(70), 'a'));
        }
    }

private:
    const ReferenceRecord& record() { return records_[random_.below(records_.size())]; }

    std::size_t end_of(const ReferenceRecord& record) const {
        const auto next = std::ranges::upper_bound(records_, record.begin, {}, &ReferenceRecord::begin);
        return next == records_.end() ? text_.size() : next->begin;
    }

    std::size_t record_start() { return record().begin; }
    Range any_record() {
        const ReferenceRecord& any = record();
        return {any.begin, end_of(any)};
    }
    Range any_terminator() {
        const ReferenceRecord& any = record();
        return {any.content_end, end_of(any)};
    }
    Range any_field() {
        const ReferenceRecord& any = record();
        const std::size_t number = random_.below(any.ends.size());
        const bool is_last = number + 1 == any.ends.size();
        return {number == 0 ? any.begin : any.ends[number - 1] + 1U, is_last ? any.content_end : any.ends[number]};
    }

    std::string copy_of(Range range) const { return text_.substr(range.begin, range.end - range.begin); }
    void replace(Range range, const std::string& by) { text_.replace(range.begin, range.end - range.begin, by); }
    void insert(std::size_t at, const std::string& what) { text_.insert(at, what); }

    void remove_field() {
        Range field = any_field();
        const bool has_delimiter =
            field.end < text_.size() && static_cast<std::uint8_t>(text_[field.end]) == dialect_.delimiter;
        if (has_delimiter) ++field.end;
        replace(field, "");
    }

    // Puts quotes around the field and doubles those inside, or removes the field's first and last bytes.
    void change_quotes() {
        if (!dialect_.quote) return;
        const char quote = static_cast<char>(*dialect_.quote);
        const Range field = any_field();
        const std::string value = copy_of(field);
        if (value.size() >= 2 && value.front() == quote && random_.chance(50)) {
            return replace(field, value.substr(1, value.size() - 2));
        }
        std::string quoted(1, quote);
        for (const char byte : value) quoted.append(byte == quote ? 2 : 1, byte);
        replace(field, quoted + quote);
    }

    std::string terminator() {
        constexpr std::string_view kTerminators[] = {"\n", "\r\n", "\r", "\n\n", ""};
        return std::string(kTerminators[random_.below(std::size(kTerminators))]);
    }

    std::string bytes_with_roles() const {
        std::string bytes = "\n\r";
        bytes += static_cast<char>(dialect_.delimiter);
        bytes += static_cast<char>(dialect_.quote.value_or('"'));
        bytes += static_cast<char>(dialect_.escape.value_or('\\'));
        return bytes;
    }

    std::string& text_;
    const Dialect& dialect_;
    Random& random_;
    std::vector<ReferenceRecord> records_;
};

}  // namespace

std::size_t mutate_csv(std::span<std::uint8_t> room, std::size_t size, unsigned seed, std::size_t text_at,
                       const Dialect& dialect) {
    Random random(seed);
    if (text_at >= size || random.chance(50)) return LLVMFuzzerMutate(room.data(), size, room.size());
    std::string text(room.begin() + static_cast<std::ptrdiff_t>(text_at),
                     room.begin() + static_cast<std::ptrdiff_t>(size));
    for (std::size_t left = 1 + random.below(4); left > 0 && !text.empty(); --left) {
        Change(text, dialect, random).make();
        text.resize(std::min(text.size(), room.size() - text_at));
    }
    std::ranges::copy(text, room.begin() + static_cast<std::ptrdiff_t>(text_at));
    return text_at + text.size();
}

}  // namespace cleave::test
