#include "reference.h"

#include <algorithm>
#include <iterator>

namespace cleave::test {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// A position in the text, and what the bytes there mean.
class Cursor {
public:
    Cursor(std::string_view text, const Dialect& dialect)
        : text_(text), dialect_(dialect), position_(text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0) {
        if (dialect.preamble > 0) position_ = std::min<std::uint64_t>(dialect.preamble, text.size());
    }

    std::size_t position() const { return position_; }
    bool at_end() const { return position_ >= text_.size(); }
    bool at_delimiter() const { return at(dialect_.delimiter); }
    bool at_quote() const { return at(dialect_.quote); }
    bool at_escape() const { return at(dialect_.escape); }
    bool escapes_everywhere() const { return dialect_.escape_scope == EscapeScope::kEverywhere; }

    // The size of the terminator at the current position, or 0.
    std::size_t terminator_size() const {
        switch (dialect_.terminator) {
            case Terminator::kLf: return at('\n') ? 1 : 0;
            case Terminator::kCr: return at('\r') ? 1 : 0;
            case Terminator::kAny: break;
        }
        if (text_.substr(position_).starts_with("\r\n")) return 2;
        return at('\n') || at('\r') ? 1 : 0;
    }

    void skip(std::size_t count) { position_ = std::min(position_ + count, text_.size()); }

private:
    bool at(std::optional<std::uint8_t> byte) const {
        return byte && !at_end() && static_cast<std::uint8_t>(text_[position_]) == *byte;
    }

    std::string_view text_;
    Dialect dialect_;
    std::size_t position_;
};

// Where the preamble and the first record start.
std::vector<std::uint64_t> first_starts(std::string_view text, const Dialect& dialect) {
    std::vector<std::uint64_t> starts;
    if (!text.empty()) starts.push_back(0);
    if (dialect.preamble > 0 && dialect.preamble < text.size()) starts.push_back(dialect.preamble);
    return starts;
}

// Quote mode `field-start`: the grammar of records, fields and quoted sections.
class FieldStartReader {
public:
    FieldStartReader(std::string_view text, const Dialect& dialect) : cursor_(text, dialect) {
        reading_.size = text.size();
        reading_.starts = first_starts(text, dialect);
        while (!cursor_.at_end()) {
            read_record();
            if (!cursor_.at_end()) reading_.starts.push_back(cursor_.position());
        }
    }

    Reading reading() const { return reading_; }

private:
    void read_record() {
        while (read_field()) {
        }
    }

    // Returns whether another field of the record follows.
    bool read_field() {
        if (cursor_.at_quote()) {
            read_quoted_section();
            if (cursor_.at_escape()) cursor_.skip(1);  // here an escape is plain data
        }
        while (!cursor_.at_end()) {
            if (cursor_.at_escape() && cursor_.escapes_everywhere()) {
                cursor_.skip(2);
            } else if (cursor_.at_delimiter()) {
                cursor_.skip(1);
                return true;
            } else if (const std::size_t size = cursor_.terminator_size(); size > 0) {
                cursor_.skip(size);
                return false;
            } else {
                cursor_.skip(1);
            }
        }
        return false;
    }

    void read_quoted_section() {
        reading_.opens.push_back(cursor_.position());
        cursor_.skip(1);
        while (!cursor_.at_end()) {
            if (cursor_.at_escape()) {
                cursor_.skip(2);
            } else if (cursor_.at_quote()) {
                cursor_.skip(1);
                if (!cursor_.at_quote()) return;
                cursor_.skip(1);
            } else {
                cursor_.skip(1);
            }
        }
        reading_.open_at_end = true;
    }

    Cursor cursor_;
    Reading reading_;
};

// Quote mode `anywhere`: every quote toggles.
Reading read_anywhere(std::string_view text, const Dialect& dialect) {
    Reading reading;
    reading.size = text.size();
    reading.starts = first_starts(text, dialect);
    bool inside = false;
    std::optional<std::size_t> closed_at;  // just past the last closing quote
    for (Cursor cursor(text, dialect); !cursor.at_end();) {
        if (cursor.at_escape() && (inside || cursor.escapes_everywhere())) {
            cursor.skip(2);
        } else if (cursor.at_quote()) {
            inside = !inside;
            if (inside && closed_at != cursor.position()) reading.opens.push_back(cursor.position());
            cursor.skip(1);
            if (!inside) closed_at = cursor.position();
        } else if (const std::size_t size = cursor.terminator_size(); size > 0 && !inside) {
            cursor.skip(size);
            if (!cursor.at_end()) reading.starts.push_back(cursor.position());
        } else {
            cursor.skip(1);
        }
    }
    reading.open_at_end = inside;
    return reading;
}

}  // namespace

std::uint64_t Reading::record_of(std::uint64_t offset) const {
    const auto after = std::ranges::upper_bound(starts, offset);
    return static_cast<std::uint64_t>(after - starts.begin()) - 1;
}

std::optional<Place> Reading::open_quote() const {
    if (!open_at_end) return std::nullopt;
    return Place{opens.back(), record_of(opens.back())};
}

Boundary Reading::start_of(std::uint64_t record) const {
    return record < starts.size() ? Boundary{starts[record], record} : end();
}

Boundary Reading::at_or_after(std::uint64_t offset) const {
    return start_of(static_cast<std::uint64_t>(std::ranges::lower_bound(starts, offset) - starts.begin()));
}

Boundary Reading::at_or_before(std::uint64_t offset) const {
    return offset >= size ? end() : start_of(record_of(offset));
}

Reading read_by_rules(std::string_view text, const Dialect& dialect) {
    if (dialect.quoting == Quoting::kAnywhere) return read_anywhere(text, dialect);
    return FieldStartReader(text, dialect).reading();
}

Reading read_by_rules(std::string_view text, Dialect dialect, Quoting quoting) {
    dialect.quoting = quoting;
    return read_by_rules(text, dialect);
}

std::uint64_t header_records(std::string_view text, const Dialect& dialect) {
    const Reading reading = read_by_rules(text, dialect);
    const std::uint64_t preamble = dialect.preamble > 0 ? 1 : 0;
    if (dialect.header == HeaderRecord::kNone) return std::min<std::uint64_t>(preamble, reading.starts.size());
    if (dialect.header == HeaderRecord::kFirstNotEmpty) {
        for (std::uint64_t record = preamble; record < reading.starts.size(); ++record) {
            const std::uint64_t start = reading.starts[record];
            std::string_view bytes = text.substr(start, reading.start_of(record + 1).offset - start);
            if (record == 0 && bytes.starts_with(kByteOrderMark)) bytes.remove_prefix(kByteOrderMark.size());
            if (bytes.find_first_not_of("\r\n") != std::string_view::npos) return record + 1;
        }
    }
    return std::min<std::uint64_t>(preamble + 1, reading.starts.size());
}

std::optional<std::uint64_t> first_difference(std::string_view text, const Dialect& dialect) {
    const std::vector<std::uint64_t> a = read_by_rules(text, dialect, Quoting::kFieldStart).starts;
    const std::vector<std::uint64_t> b = read_by_rules(text, dialect, Quoting::kAnywhere).starts;
    std::vector<std::uint64_t> differences;
    std::ranges::set_symmetric_difference(a, b, std::back_inserter(differences));
    return differences.empty() ? std::nullopt : std::optional(differences.front());
}

}  // namespace cleave::test
