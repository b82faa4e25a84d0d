#include "field_reference.h"

namespace cleave::test {
namespace {

class Reader {
public:
    Reader(std::string_view text, const Dialect& dialect) : text_(text), dialect_(dialect) {}

    FieldReading read() {
        while (at_ < text_.size()) read_record();
        return reading_;
    }

private:
    bool is(std::optional<std::uint8_t> role) const { return role && static_cast<std::uint8_t>(text_[at_]) == *role; }
    bool is_terminator() const {
        if (text_[at_] == '\n') return dialect_.terminator != Terminator::kCr;
        return text_[at_] == '\r' && dialect_.terminator != Terminator::kLf;
    }
    void fault(std::size_t at) {
        if (!reading_.fault || at < *reading_.fault) reading_.fault = static_cast<std::uint32_t>(at);
    }
    std::uint32_t here() const { return static_cast<std::uint32_t>(at_); }

    void read_record() {
        ReferenceRecord record;
        record.begin = here();
        bool is_plain_return = false;  // whether the last byte is a CR that is neither quoted nor escaped
        for (;;) {
            is_plain_return = read_field();
            record.ends.push_back(here());
            if (at_ == text_.size() || is_terminator()) break;
            ++at_;  // the delimiter
        }
        record.content_end = here();
        if (at_ < text_.size()) {
            if (dialect_.terminator == Terminator::kLf && is_plain_return) --record.content_end;
            const bool is_pair = dialect_.terminator == Terminator::kAny && text_.substr(at_, 2) == "\r\n";
            at_ += is_pair ? 2 : 1;
        } else if (is_plain_return) {
            fault(at_ - 1);
        }
        reading_.records.push_back(record);
    }

    // Advances to the byte after the field.
    bool read_field() {
        bool is_start = true;
        bool after_closing = false;
        bool is_plain_return = false;
        for (; at_ < text_.size(); ++at_) {
            const bool quote_opens = is(dialect_.quote) && (is_start || after_closing);
            const bool is_stray = is(dialect_.quote) && !quote_opens;
            const bool ends = is(dialect_.delimiter) || is_terminator();
            if (is_plain_return && !(text_[at_] == '\n')) fault(at_ - 1);
            if (ends) return is_plain_return;
            const bool was_after_closing = after_closing;
            is_plain_return = text_[at_] == '\r' && dialect_.terminator == Terminator::kLf;
            if (text_[at_] == '\n') fault(at_);  // not a terminator, so the terminator is CR
            if (is_stray) fault(at_);
            if (was_after_closing && !quote_opens && !is_plain_return) fault(at_);
            is_start = after_closing = false;
            const bool escape_acts_after_quote = dialect_.quoting == Quoting::kAnywhere;
            const bool escapes_everywhere = dialect_.escape && dialect_.escape_scope == EscapeScope::kEverywhere;
            if (quote_opens || (is_stray && dialect_.quoting == Quoting::kAnywhere)) {
                if (!read_quoted(was_after_closing)) return false;
                after_closing = true;
            } else if (is(dialect_.escape) && escapes_everywhere && (!was_after_closing || escape_acts_after_quote) &&
                       ++at_ == text_.size()) {
                fault(at_ - 1);
                return false;
            }
        }
        return is_plain_return;
    }

    // Reads from the opening quote to the closing one. Returns false if the section is never closed.
    bool read_quoted(bool is_reopened) {
        const std::size_t opened = is_reopened ? opened_ : at_;
        opened_ = opened;
        for (++at_; at_ < text_.size(); ++at_) {
            if (is(dialect_.escape)) {
                if (++at_ == text_.size()) break;
                continue;
            }
            if (is(dialect_.quote)) return true;
        }
        fault_open(opened);
        return false;
    }
    // Reported only if there is no other fault before the end.
    void fault_open(std::size_t opened) {
        if (!reading_.fault) reading_.fault = static_cast<std::uint32_t>(opened);
    }

    std::string_view text_;
    const Dialect& dialect_;
    std::size_t at_ = 0;
    std::size_t opened_ = 0;
    FieldReading reading_;
};

}  // namespace

FieldReading read_fields(std::string_view text, const Dialect& dialect) { return Reader(text, dialect).read(); }

std::string_view field_of(std::string_view text, const ReferenceRecord& record, std::size_t number) {
    const std::uint32_t begin = number == 0 ? record.begin : record.ends[number - 1] + 1;
    const bool is_last = number + 1 == record.ends.size();
    return text.substr(begin, (is_last ? record.content_end : record.ends[number]) - begin);
}

std::string value_of(std::string_view field, const Dialect& dialect) {
    std::string value;
    bool is_quoted = false;
    bool is_after_quote = false;
    for (std::size_t i = 0; i < field.size(); ++i) {
        const auto byte = static_cast<std::uint8_t>(field[i]);
        const bool is_anywhere = dialect.quoting == Quoting::kAnywhere;
        const bool is_outside_escape =
            dialect.escape_scope == EscapeScope::kEverywhere && (!is_after_quote || is_anywhere);
        if (dialect.escape == byte && i + 1 < field.size() && (is_quoted || is_outside_escape)) {
            value += field[++i];
            is_after_quote = false;
        } else if (dialect.quote == byte && is_quoted) {
            is_quoted = false;
            is_after_quote = true;
        } else if (dialect.quote == byte && is_after_quote) {
            value += field[i];
            is_quoted = true;
            is_after_quote = false;
        } else if (dialect.quote == byte && (i == 0 || is_anywhere)) {
            is_quoted = true;
        } else {
            value += field[i];
            is_after_quote = false;
        }
    }
    return value;
}

std::vector<std::optional<std::string>> read_column(std::string_view text, const std::vector<ReferenceRecord>& records,
                                                    const Dialect& dialect, std::size_t number, bool empty_is_null) {
    std::vector<std::optional<std::string>> values;
    for (const ReferenceRecord& record : records) {
        const bool is_empty = record.ends.size() == 1 && record.content_end == record.begin;
        if (number >= record.ends.size() || is_empty) {
            values.emplace_back();
            continue;
        }
        const std::string_view field = field_of(text, record, number);
        values.push_back(field.empty() && empty_is_null ? std::nullopt : std::optional(value_of(field, dialect)));
    }
    return values;
}

}  // namespace cleave::test
