#include "features/check/census.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/bits.h"

namespace cleave {
namespace {

using Kind = CensusTable::Kind;

constexpr std::size_t kCountedSize = 64;

constexpr std::string_view kMark = "\xEF\xBB\xBF";

Kind kind_by(const Dialect& dialect, std::uint8_t byte) {
    if (dialect.quote == byte) return Kind::kQuote;
    if (dialect.delimiter == byte) return Kind::kDelimiter;
    if (dialect.escape == byte) return Kind::kEscape;
    if (byte == '\r') return Kind::kReturn;
    return byte == '\n' ? Kind::kFeed : Kind::kPlain;
}

// The state of the state machine, without the CR that the census remembers.
State state_of(std::uint8_t state) {
    if (state == CensusTable::kReturnInField || state == CensusTable::kReturnAfterQuote) return State::kUnquoted;
    return state == CensusTable::kReturnInQuoted ? State::kQuoted : static_cast<State>(state);
}

bool is_return_outside(std::uint8_t state) {
    return state == CensusTable::kReturnInField || state == CensusTable::kReturnAfterQuote;
}

// The events for the remembered CR, once it turns out not to belong to a CRLF.
std::uint16_t events_of_lone_return(std::uint8_t state) {
    switch (state) {
        case CensusTable::kReturnInField: return CensusTable::kIsDataBreak;
        case CensusTable::kReturnAfterQuote: return CensusTable::kIsDataBreak | CensusTable::kWasStrayAndReturn;
        case static_cast<std::uint8_t>(State::kCarriageReturn): return CensusTable::kEndedByCr;
        default: return 0;
    }
}

void add(Tally& sum, const Tally& next) {
    sum.count += next.count;
    if (!sum.first) sum.first = next.first;
}

void add(Ragged& sum, const Ragged& next, std::uint64_t max_listed) {
    if (sum.count == 0) sum.fields = next.fields;
    add(static_cast<Tally&>(sum), next);
    const std::uint64_t room = max_listed - std::min<std::uint64_t>(max_listed, sum.listed.size());
    const auto taken = static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(room, next.listed.size()));
    sum.listed.insert(sum.listed.end(), next.listed.begin(), next.listed.begin() + taken);
}

}  // namespace

CensusTable::CensusTable(const Dialect& dialect)
    : dialect_(dialect),
      role_bytes_{Vector{} + dialect.quote.value_or('\n'), Vector{} + dialect.delimiter,
                  Vector{} + dialect.escape.value_or('\n'), Vector{} + '\r', Vector{} + '\n'} {
    for (std::size_t byte = 0; byte < kinds_.size(); ++byte) {
        kinds_[byte] = kind_by(dialect, static_cast<std::uint8_t>(byte));
    }
    const StateMachine machine(dialect);
    for (std::uint8_t state = 0; state < kCensusStateCount; ++state) {
        for (std::size_t kind = 0; kind < kKindCount; ++kind) {
            const auto k = static_cast<Kind>(kind);
            moves_[index_of(state, k, false)] = make_move(machine, dialect, state, k);
        }
    }
    for (std::uint8_t state = 0; state < kCensusStateCount; ++state) {
        const Move plain = move(state, Kind::kPlain);
        for (std::size_t kind = 0; kind < kKindCount; ++kind) {
            const auto k = static_cast<Kind>(kind);
            moves_[index_of(state, k, true)] = plain.events == 0 ? move(plain.next, k) : Move{kTakesTwo, state};
        }
    }
}

CensusTable::Move CensusTable::make_move(const StateMachine& machine, const Dialect& dialect, std::uint8_t state,
                                         Kind kind) const {
    Move move{events_of_lone_return(state), state};
    if (kind == Kind::kEnd) return move;
    const auto* byte = std::ranges::find(kinds_, kind);
    if (byte == kinds_.end()) return move;  // no byte has that role
    const State before = state_of(state);
    const State after = machine.step(before, static_cast<std::uint8_t>(byte - kinds_.begin())).next;
    move.next = static_cast<std::uint8_t>(after);
    if (kind == Kind::kReturn || kind == Kind::kFeed) break_line(move, dialect, state, kind);
    if (after == State::kFieldStart) move.events |= kDelimits;
    if (kind == Kind::kQuote && before == State::kUnquoted) move.events |= kIsStray;
    const bool in_field_again = after == State::kUnquoted || after == State::kEscape;
    if (before == State::kQuoteInQuoted && in_field_again && move.next != kReturnAfterQuote) move.events |= kWasStray;
    return move;
}

// Sets the events and the next state of a CR or an LF.
void CensusTable::break_line(Move& move, const Dialect& dialect, std::uint8_t state, Kind kind) {
    const State before = state_of(state);
    const auto after = static_cast<State>(move.next);
    if (kind == Kind::kFeed && after == State::kRecordStart) {  // a CR before it is part of the terminator
        const bool after_return = is_return_outside(state) || before == State::kCarriageReturn;
        move.events = after_return ? kEndsByCrlf : kEndsByLf;
    } else if (after == State::kRecordStart) {
        move.events |= kEndsByCr;
    } else if (is_quoted(before)) {
        if (kind == Kind::kReturn) move.next = kReturnInQuoted;
        if (kind == Kind::kReturn || state != kReturnInQuoted) move.events |= kIsQuotedBreak;
    } else if (kind == Kind::kReturn && dialect.terminator == Terminator::kLf && before != State::kEscape) {
        move.next = before == State::kQuoteInQuoted ? kReturnAfterQuote : kReturnInField;
    } else if (after != State::kCarriageReturn) {
        move.events |= kIsDataBreak;
    }
}

std::uint64_t CensusTable::roles_of(const std::uint8_t* bytes) const {
    std::uint64_t roles = 0;
    for (std::size_t i = 0; i < kCountedSize; i += sizeof(Vector)) {
        const Vector part = load_vector(bytes + i);
        auto has_role = part == role_bytes_[0];
        for (std::size_t k = 1; k < role_bytes_.size(); ++k) has_role |= part == role_bytes_[k];
        roles |= std::uint64_t{high_bits(reinterpret_cast<Vector>(has_role))} << i;
    }
    return roles;
}

CensusTaker::CensusTaker(const CensusTable& table, Boundary begin, std::uint64_t fields, std::uint64_t max_listed)
    : CensusTaker(table, begin, {}, fields, max_listed) {}

CensusTaker::CensusTaker(const CensusTable& table, const Lead& lead, std::uint64_t max_listed)
    : CensusTaker(table, {}, lead, kUnknown, max_listed) {}

CensusTaker::CensusTaker(const CensusTable& table, Boundary begin, const Lead& lead, std::uint64_t fields,
                         std::uint64_t max_listed)
    : table_(&table),
      lead_(lead),
      fields_(fields),
      max_listed_(max_listed),
      offset_(begin.offset),
      done_(std::max(begin.offset, lead.size)),
      text_begin_(done_),
      start_{begin.offset, begin.record},
      finder_(table.dialect(), lead) {
    if (lead.is_preamble) start_ = {lead.size, 1};
}

void CensusTaker::feed(std::span<const std::uint8_t> bytes) {
    while (const std::size_t end = end_of_mark(bytes)) {
        take_text(bytes.first(end));
        bytes = bytes.subspan(end);
        const std::uint64_t begin = offset_ - kMark.size();
        if (begin > 0 && begin >= lead_.size) count(census_.marks, begin);
    }
    take_text(bytes);
}

// Counts bytes that are not text, and passes all bytes on. To know the record of the first such byte, the bytes up to
// it are passed first.
void CensusTaker::take_text(std::span<const std::uint8_t> bytes) {
    if (offset_ < lead_.size) {
        const std::size_t rest = std::min<std::size_t>(bytes.size(), lead_.size - offset_);
        pass(bytes.first(rest));
        bytes = bytes.subspan(rest);
    }
    text_.feed(bytes);
    note_text(bytes);
}

void CensusTaker::note_text(std::span<const std::uint8_t> bytes) {
    census_.not_utf8.count = text_.ill_formed().count;
    census_.nuls.count = text_.nuls().count;
    using First = std::pair<std::optional<std::uint64_t>, Tally*>;
    std::array<First, 2> both = {First{text_.ill_formed().first, &census_.not_utf8},
                                 First{text_.nuls().first, &census_.nuls}};
    std::ranges::sort(both);
    for (const auto& [first, tally] : both) {
        if (!first || tally->first) continue;
        const std::uint64_t offset = text_begin_ + *first;
        if (offset >= offset_) {                            // otherwise it began in earlier bytes, in this record
            const std::size_t size = offset + 1 - offset_;  // with the byte, because it may follow a lone CR
            pass(bytes.first(size));
            bytes = bytes.subspan(size);
        }
        tally->first = Place{offset, start_.record};
    }
    pass(bytes);
}

// Returns the end of the first byte order mark in the bytes, or 0 if there is none. The mark may have begun in earlier
// bytes.
std::size_t CensusTaker::end_of_mark(std::span<const std::uint8_t> bytes) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const std::string_view rest = kMark.substr(std::exchange(mark_begun_, 0));
    if (rest != kMark && text.starts_with(rest)) return rest.size();
    const std::size_t found = text.find(kMark);
    if (found != std::string_view::npos) return found + kMark.size();
    // A one-byte chunk may be the second byte of the three.
    if (rest != kMark && rest.starts_with(text)) {
        mark_begun_ = kMark.size() - rest.size() + text.size();
        return 0;
    }
    for (std::size_t size = std::min(text.size(), kMark.size() - 1); size > 0 && mark_begun_ == 0; --size) {
        if (text.ends_with(kMark.substr(0, size))) mark_begun_ = size;
    }
    return 0;
}

void CensusTaker::pass(std::span<const std::uint8_t> bytes) {
    if (fields_ == kUnknown) finder_.feed(bytes);
    if (offset_ < lead_.size) {
        const std::size_t rest = std::min<std::size_t>(bytes.size(), lead_.size - offset_);
        offset_ += rest;
        bytes = bytes.subspan(rest);
    }
    for (; bytes.size() >= kCountedSize; bytes = bytes.subspan(kCountedSize), offset_ += kCountedSize) {
        take_step(bytes.data(), table_->roles_of(bytes.data()));
    }
    if (!bytes.empty()) {
        std::array<std::uint8_t, kCountedSize> step{};
        std::memcpy(step.data(), bytes.data(), bytes.size());
        const std::uint64_t there = (std::uint64_t{1} << bytes.size()) - 1;
        take_step(step.data(), table_->roles_of(step.data()) & there);
        offset_ += bytes.size();
    }
    if (done_ < offset_) {
        take(Kind::kPlain, done_);
        done_ = offset_;
    }
    note_surplus();
}

void CensusTaker::take_step(const std::uint8_t* step, std::uint64_t roles) {
    // The state needed at every byte is kept in registers, and the first surplus delimiter is noted without a branch.
    std::uint8_t state = state_;
    std::uint64_t done = done_;
    std::uint64_t fields = fields_here_;
    std::uint64_t surplus = surplus_;
    for (; roles != 0; roles &= roles - 1) {
        const unsigned at = first_bit(roles);
        const std::uint64_t offset = offset_ + at;
        const Kind kind = table_->kind_of(step[at]);
        const CensusTable::Move move = table_->move(state, done != offset, kind);
        if (move.events > CensusTable::kDelimits) {
            state_ = state;
            fields_here_ = fields;
            surplus_ = surplus;
            if (done != offset) take(Kind::kPlain, done);
            take(kind, offset);
            state = state_;
            fields = fields_here_;
            surplus = surplus_;
        } else {
            surplus = move.events != 0 && fields == fields_ ? offset : surplus;
            fields += move.events;
            state = move.next;
        }
        done = offset + 1;
    }
    state_ = state;
    done_ = done;
    fields_here_ = fields;
    surplus_ = surplus;
}

void CensusTaker::take(Kind kind, std::uint64_t offset) {
    const CensusTable::Move move = table_->move(state_, kind);
    state_ = move.next;
    if (move.events != 0) note(move.events, offset);
}

void CensusTaker::note(unsigned events, std::uint64_t offset) {
    // Events that belong to earlier bytes come first.
    if ((events & CensusTable::kWasStray) != 0) count(census_.stray_quotes, offset - 1);
    if ((events & CensusTable::kWasStrayAndReturn) != 0) count(census_.stray_quotes, offset - 2);
    if ((events & CensusTable::kEndedByCr) != 0) {
        ++census_.terminators.cr;
        end_record(offset, 1);
    }
    if ((events & CensusTable::kIsDataBreak) != 0) ++census_.data_breaks;
    if ((events & CensusTable::kIsQuotedBreak) != 0) ++census_.quoted_breaks;
    if ((events & CensusTable::kIsStray) != 0) count(census_.stray_quotes, offset);
    if ((events & CensusTable::kDelimits) != 0) {
        if (fields_here_ == fields_) surplus_ = offset;
        ++fields_here_;
    }
    if ((events & CensusTable::kEndsByLf) != 0) {
        ++census_.terminators.lf;
        end_record(offset + 1, 1);
    }
    if ((events & CensusTable::kEndsByCrlf) != 0) {
        ++census_.terminators.crlf;
        end_record(offset + 1, 2);
    }
    if ((events & CensusTable::kEndsByCr) != 0) {
        ++census_.terminators.cr;
        end_record(offset + 1, 1);
    }
}

void CensusTaker::count(Tally& tally, std::uint64_t offset) const {
    if (tally.count++ == 0) tally.first = Place{offset, start_.record};
}

// Notes, before the current record ends, that it has too many fields.
void CensusTaker::note_surplus() {
    if (fields_here_ > fields_ && !census_.ragged.first) census_.ragged.first = Place{surplus_, start_.record};
}

// Ends the current record at `end`, just past its terminator.
void CensusTaker::end_record(std::uint64_t end, std::uint64_t terminator_size) {
    const std::uint64_t size = end - start_.offset;
    if (fields_ == kUnknown) look_for_header(end);
    ++census_.records;
    if (size > census_.longest.size) census_.longest = {start_, size};
    if (size == terminator_size + (start_.offset == 0 ? lead_.size : 0)) {
        count(census_.empty, start_.offset);
    } else if (fields_here_ != fields_ && fields_ != kUnknown) {
        const Place place{fields_here_ > fields_ ? surplus_ : end - terminator_size, start_.record};
        Ragged& ragged = census_.ragged;
        if (ragged.count++ == 0) {
            ragged.first = place;
            ragged.fields = fields_here_;
        }
        if (ragged.listed.size() < max_listed_) ragged.listed.push_back({place, fields_here_});
    }
    start_ = {end, start_.record + 1};
    fields_here_ = 1;
}

// The record that ends here is the header if it contains the byte at which HeaderFinder found the header. Until the
// header is found, the first record counts as the header.
void CensusTaker::look_for_header(std::uint64_t end) {
    const bool is_header = finder_.is_found() && finder_.content() < end;
    if (is_header) fields_ = fields_here_;
    if (is_header || census_.records == 0) header_ = {start_, end - start_.offset};
}

// If all records are empty, the answer is 1, because an empty record has one field.
std::uint64_t CensusTaker::fields() const {
    if (fields_ != kUnknown) return fields_;
    return census_.records > 0 ? 1 : 0;
}

void CensusTaker::finish() {
    text_.finish();
    note_text({});
    take(Kind::kEnd, offset_);
    if (offset_ <= start_.offset) return;
    census_.terminators.none = 1;
    // After an open quote, delimiters are data, so missing fields do not count.
    if (is_quoted(state_of(state_)) && fields_ != kUnknown) fields_here_ = std::max(fields_here_, fields_);
    end_record(offset_, 0);
}

void append(Census& census, const Census& next, std::uint64_t max_listed) {
    census.records += next.records;
    census.terminators.lf += next.terminators.lf;
    census.terminators.crlf += next.terminators.crlf;
    census.terminators.cr += next.terminators.cr;
    census.terminators.none += next.terminators.none;
    census.data_breaks += next.data_breaks;
    census.quoted_breaks += next.quoted_breaks;
    if (next.longest.size > census.longest.size) census.longest = next.longest;
    add(census.empty, next.empty);
    add(census.marks, next.marks);
    add(census.not_utf8, next.not_utf8);
    add(census.nuls, next.nuls);
    add(census.stray_quotes, next.stray_quotes);
    add(census.ragged, next.ragged, max_listed);
}

}  // namespace cleave
