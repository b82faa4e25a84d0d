#include "census_reference.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "reference.h"

namespace cleave::test {
namespace {

// Returns a letter for each byte: `b` byte order mark, `d` delimiter, `t` terminator (`T` its last byte), `o` an
// opening quote, `c` a closing quote, `2` each half of a doubled quote, `q` a quote that is data, `e` an escape, `x` an
// escaped byte, `.` data. Within quotes, escapes, escaped bytes and data are `E`, `X` and `:`.
std::string roles_by_field_start(std::string_view text, const Dialect& dialect);
std::string roles_by_anywhere(std::string_view text, const Dialect& dialect);

class Roles {
public:
    Roles(std::string_view text, const Dialect& dialect) : text_(text), dialect_(dialect) {
        if (text.starts_with("\xEF\xBB\xBF")) roles_ = "bbb";
    }

    bool at_end() const { return here() >= text_.size(); }
    bool at(std::optional<std::uint8_t> byte) const { return is(here(), byte); }
    bool followed_by(std::optional<std::uint8_t> byte) const { return is(here() + 1, byte); }
    char last() const { return roles_.empty() ? ' ' : roles_.back(); }

    // Takes one byte for each letter, or as many bytes as are left.
    void take(std::string_view roles) { roles_ += roles.substr(0, text_.size() - here()); }
    void retake_last(char role) { roles_.back() = role; }

    bool take_terminator() {
        const bool any = dialect_.terminator == Terminator::kAny;
        if (any && at('\r') && followed_by('\n')) {
            take("tT");
        } else if (at('\n') ? dialect_.terminator != Terminator::kCr
                            : at('\r') && dialect_.terminator != Terminator::kLf) {
            take("T");
        } else {
            return false;
        }
        return true;
    }

    std::string roles() const { return roles_; }

private:
    std::size_t here() const { return roles_.size(); }
    bool is(std::size_t i, std::optional<std::uint8_t> byte) const {
        return byte && i < text_.size() && static_cast<std::uint8_t>(text_[i]) == *byte;
    }

    std::string_view text_;
    Dialect dialect_;
    std::string roles_;
};

void take_quoted_section(Roles& roles, const Dialect& dialect) {
    roles.take("o");
    while (!roles.at_end()) {
        if (roles.at(dialect.escape)) {
            roles.take("EX");
        } else if (!roles.at(dialect.quote)) {
            roles.take(":");
        } else if (roles.followed_by(dialect.quote)) {
            roles.take("22");
        } else {
            roles.take("c");
            return;
        }
    }
}

std::string roles_by_field_start(std::string_view text, const Dialect& dialect) {
    Roles roles(text, dialect);
    bool field_starts = true;
    while (!roles.at_end()) {
        if (field_starts && roles.at(dialect.quote)) {
            take_quoted_section(roles, dialect);
            if (roles.at(dialect.escape)) roles.take(".");
            field_starts = false;
            continue;
        }
        field_starts = false;
        if (roles.at(dialect.escape) && dialect.escape_scope == EscapeScope::kEverywhere) {
            roles.take("ex");
        } else if (roles.at(dialect.quote)) {
            roles.take("q");
        } else if (roles.at(dialect.delimiter)) {
            roles.take("d");
            field_starts = true;
        } else if (roles.take_terminator()) {
            field_starts = true;
        } else {
            roles.take(".");
        }
    }
    return roles.roles();
}

std::string roles_by_anywhere(std::string_view text, const Dialect& dialect) {
    Roles roles(text, dialect);
    bool inside = false;
    while (!roles.at_end()) {
        if (roles.at(dialect.escape) && (inside || dialect.escape_scope == EscapeScope::kEverywhere)) {
            roles.take(inside ? "EX" : "ex");
        } else if (roles.at(dialect.quote)) {
            inside = !inside;
            if (inside && roles.last() == 'c') {
                roles.retake_last('2');
                roles.take("2");
            } else {
                roles.take(inside ? "o" : "c");
            }
        } else if (inside) {
            roles.take(":");
        } else if (roles.at(dialect.delimiter)) {
            roles.take("d");
        } else if (!roles.take_terminator()) {
            roles.take(".");
        }
    }
    return roles.roles();
}

bool is_break(char byte) { return byte == '\n' || byte == '\r'; }
bool is_inside(char role) { return role == ':' || role == 'E' || role == 'X'; }

void add(Tally& tally, std::size_t offset, std::uint64_t record) {
    if (tally.count++ == 0) tally.first = Place{offset, record};
}

// The bytes of well-formed sequences: the Unicode Standard, table 3-7.
using ByteRange = std::pair<std::uint8_t, std::uint8_t>;
const std::vector<std::vector<ByteRange>> kWellFormed = {
    {{0x00, 0x7F}},
    {{0xC2, 0xDF}, {0x80, 0xBF}},
    {{0xE0, 0xE0}, {0xA0, 0xBF}, {0x80, 0xBF}},
    {{0xE1, 0xEC}, {0x80, 0xBF}, {0x80, 0xBF}},
    {{0xED, 0xED}, {0x80, 0x9F}, {0x80, 0xBF}},
    {{0xEE, 0xEF}, {0x80, 0xBF}, {0x80, 0xBF}},
    {{0xF0, 0xF0}, {0x90, 0xBF}, {0x80, 0xBF}, {0x80, 0xBF}},
    {{0xF1, 0xF3}, {0x80, 0xBF}, {0x80, 0xBF}, {0x80, 0xBF}},
    {{0xF4, 0xF4}, {0x80, 0x8F}, {0x80, 0xBF}, {0x80, 0xBF}},
};

struct Sequence {
    std::size_t size;
    bool is_well_formed;
};

// The sequence that the text begins with: if it is ill-formed, as much of it as could begin a well-formed one.
Sequence first_sequence(std::string_view text) {
    std::size_t longest = 1;
    for (const std::vector<ByteRange>& ranges : kWellFormed) {
        std::size_t size = 0;
        while (size < std::min(ranges.size(), text.size()) &&
               static_cast<std::uint8_t>(text[size]) >= ranges[size].first &&
               static_cast<std::uint8_t>(text[size]) <= ranges[size].second) {
            ++size;
        }
        if (size == ranges.size()) return {size, true};
        longest = std::max(longest, size);
    }
    return {longest, false};
}

// Counts the contents of one record, text[begin, end).
class RecordCounter {
public:
    RecordCounter(std::string_view text, const std::string& roles, std::uint64_t header_records,
                  CensusReference& result)
        : text_(text), roles_(roles), header_records_(header_records), result_(result) {}

    void count(std::size_t begin, std::size_t end, std::uint64_t record) {
        const std::size_t content = content_end(begin, end);
        Census& census = result_.census;
        ++census.records;
        if (end - begin > census.longest.size) census.longest = {{begin, record}, end - begin};
        for (std::size_t i = std::max<std::size_t>(begin, 1); i < end; ++i) {
            if (text_.substr(i).starts_with("\xEF\xBB\xBF")) add(census.marks, i, record);
        }
        const auto fields =
            static_cast<std::uint64_t>(1 + std::count(roles_.begin() + static_cast<std::ptrdiff_t>(begin),
                                                      roles_.begin() + static_cast<std::ptrdiff_t>(content), 'd'));
        if (record + 1 == header_records_) {
            result_.fields = fields;
            result_.header = {{begin, record}, end - begin};
        }
        if (roles_.find_first_not_of('b', begin) >= content) {
            add(census.empty, begin, record);
        } else if (record >= header_records_ &&
                   (fields > result_.fields || (fields < result_.fields && !is_open(end)))) {
            if (census.ragged.count == 0) census.ragged.fields = fields;
            const Place place{fields > result_.fields ? surplus(begin) : content, record};
            add(census.ragged, place.offset, record);
            census.ragged.listed.push_back({place, fields});
        }
        for (std::size_t i = begin; i < content; ++i) count_byte(i, begin, content, record);
        for (std::size_t i = begin; i < end;) {
            const Sequence sequence = first_sequence(text_.substr(i, end - i));
            if (!sequence.is_well_formed) add(census.not_utf8, i, record);
            if (text_[i] == '\0') add(census.nuls, i, record);
            i += sequence.size;
        }
    }

private:
    // Returns where the terminator begins, and counts the terminator.
    std::size_t content_end(std::size_t begin, std::size_t end) {
        TerminatorCounts& terminators = result_.census.terminators;
        if (roles_[end - 1] != 'T') {
            ++terminators.none;
            return end;
        }
        const bool after_return = end - begin > 1 && text_[end - 2] == '\r' &&
                                  (roles_[end - 2] == '.' || roles_[end - 2] == 't') && text_[end - 1] == '\n';
        ++(after_return ? terminators.crlf : text_[end - 1] == '\n' ? terminators.lf : terminators.cr);
        return end - (after_return ? 2 : 1);
    }

    // Whether a quote that opened in the record is still open at `end`.
    bool is_open(std::size_t end) const {
        return is_inside(roles_[end - 1]) || roles_[end - 1] == 'o' || roles_[end - 1] == '2';
    }

    std::size_t surplus(std::size_t begin) const {
        std::size_t i = begin;
        for (std::uint64_t left = result_.fields; left > 0; ++i) left -= roles_[i] == 'd' ? 1U : 0U;
        return i - 1;
    }

    void count_byte(std::size_t i, std::size_t begin, std::size_t content, std::uint64_t record) {
        Census& census = result_.census;
        const char role = roles_[i];
        if (is_break(text_[i])) {
            if (!is_inside(role)) {
                ++census.data_breaks;
            } else if (text_[i] == '\r' || i == begin || text_[i - 1] != '\r' || !is_inside(roles_[i - 1])) {
                ++census.quoted_breaks;
            }
        }
        const bool is_first = i == begin || roles_[i - 1] == 'd' || roles_[i - 1] == 'b';
        const bool is_last = i + 1 == content || roles_[i + 1] == 'd';
        if (role == 'q' || (role == 'o' && !is_first) || (role == 'c' && !is_last)) add(census.stray_quotes, i, record);
    }

    std::string_view text_;
    const std::string& roles_;
    std::uint64_t header_records_;
    CensusReference& result_;
};

}  // namespace

CensusReference count_by_rules(std::string_view text, const Dialect& dialect, std::uint64_t max_listed) {
    const std::string roles = dialect.quoting == Quoting::kFieldStart ? roles_by_field_start(text, dialect)
                                                                      : roles_by_anywhere(text, dialect);
    CensusReference result;
    // Without a header, the first record that is not empty says how many fields records should have.
    Dialect guide = dialect;
    if (guide.header == HeaderRecord::kNone) guide.header = HeaderRecord::kFirstNotEmpty;
    RecordCounter counter(text, roles, header_records(text, guide), result);
    std::uint64_t record = 0;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(roles.find('T', begin), text.size() - 1) + 1;
        counter.count(begin, end, record++);
        begin = end;
    }
    std::vector<RaggedRecord>& listed = result.census.ragged.listed;
    listed.resize(std::min<std::uint64_t>(listed.size(), max_listed));
    return result;
}

Excerpt excerpt_by_rules(std::string_view text, std::uint64_t offset) {
    const std::size_t break_before = offset == 0 ? std::string_view::npos : text.find_last_of("\r\n", offset - 1);
    const std::size_t line_begin = break_before == std::string_view::npos ? 0 : break_before + 1;
    const std::size_t line_end = std::min(text.find_first_of("\r\n", offset), text.size());
    const std::size_t begin = offset > line_begin + 60 ? offset - 60 : line_begin;
    const std::size_t end = std::min<std::size_t>(line_end, offset + 60);
    return {std::string(text.substr(begin, end - begin)), offset - begin, begin > line_begin, end < line_end};
}

}  // namespace cleave::test
