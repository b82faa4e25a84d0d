// Which bytes are one bad record:
//
//   a strict reader reads the record at `from`
//       its quotes are sound: whatever else is wrong, all of it is rejected, with the line breaks in its fields
//       its quotes are bad:   nobody knows where it ends. It is rejected up to and with the first terminator, as if
//                             quotes were data, and strict reading begins again behind that
//
// Quotes are also bad if a section is still open max_record bytes after the record began. So a stray quote costs its
// own line, and the answer depends on at most max_record bytes from `from` on.
//
// No byte is read more than three times. Say the quotes of the record at p are bad, and its first line ends at q. The
// reader that began at p is inside quotes at each line break from q to the fault. A reader that begins at q is outside
// of quotes at the same places, so each line is a record to it, and it cannot get far without a fault either. That
// makes two readings, and the search for the end of the line is the third.
//
// Under Terminator::kAny, what is left may not join a CR and an LF between which records were rejected: one record
// fewer would be read. Such an LF is an empty record, and is rejected, too.
//
// The buffer holds the record in progress, and grows with it: to twice max_record at most, because a larger record is
// rejected, and passes through in parts.
#include "features/rejects/sieve.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/json_scan.h"
#include "base/too_long.h"
#include "base/utf8.h"

namespace cleave {
namespace {

Dialect without_quotes(Dialect dialect) {
    if (dialect.escape_scope != EscapeScope::kEverywhere) dialect.escape.reset();
    dialect.quote.reset();
    return dialect;
}

class NoSink {
public:
    void key(std::size_t, JsonBytes) {}
    void element(std::size_t, std::uint64_t) {}
    void value(std::size_t, JsonKind, JsonBytes) {}
};

bool is_json(std::span<const std::uint8_t> text) {
    NoSink sink;
    return !scan_json(text.data(), text.data() + text.size(), sink);
}

// Where the next record starts in the bytes, or their size. `state` is kRecordStart only before the first record.
std::size_t walk_record(const StateMachine& machine, State& state, std::span<const std::uint8_t> bytes) {
    std::size_t at = 0;
    if (state == State::kRecordStart && !bytes.empty()) state = machine.step(state, bytes[at++]).next;
    for (; at < bytes.size(); ++at) {
        const Transition& transition = machine.step(state, bytes[at]);
        if (transition.starts_record) break;
        state = transition.next;
    }
    return at;
}

}  // namespace

std::string encoding_fault(Encoding encoding) {
    if (encoding < Encoding::kFirstCharset) return "not UTF-8";
    return "a byte that " + std::string(encoding_name(encoding)) + " does not define";
}

Sieve::Sieve(const SieveRules& rules, const Kernel& kernel, std::shared_ptr<MemoryManager> memory, std::size_t capacity)
    : rules_(rules),
      fields_(rules.has(RejectKind::kFields) ? rules.fields : 0),
      reads_bytes_(rules.has(RejectKind::kEncoding) || rules.has(RejectKind::kNul) || rules.has(RejectKind::kJson) ||
                   !rules.keys.empty() || (fields_ <= 1 && rules.dialect.terminator == Terminator::kAny)),
      machine_(rules.dialect),
      line_machine_(without_quotes(rules.dialect)),
      usual_capacity_(capacity),
      reader_(rules.dialect, kernel, Reading::kByDialect, 0, std::move(memory)) {}

void Sieve::begin(Place place, Read read, bool is_behind_cr, std::span<const std::uint8_t> bytes, std::uint64_t end) {
    read_on_ = std::move(read);
    end_ = end;
    capacity_ = usual_capacity_;
    is_at_end_ = has_large_ = false;
    state_ = State::kRecordStart;
    rest_ = bytes;
    is_new_ = !bytes.empty();
    at_ = place;
    is_behind_cr_ = is_behind_cr;
}

bool Sieve::next() {
    rejects_.clear();
    large_.clear();
    settled_ = {};
    if (has_large_) {
        pass_large();
        return true;
    }
    if (at_.offset >= end_) return false;
    // What did not end before may be long, so its beginning is read first, lest all of it is read once more.
    const bool may_be_large = !std::exchange(is_new_, false) && !rest_.empty();
    if (may_be_large || rest_.empty()) fill();
    if (rest_.empty()) return false;
    settle(may_be_large);
    return true;
}

// Reads behind rest_. Returns false at the end. If rest_ is long, fills the buffer, so that it is seldom read again.
bool Sieve::fill() {
    constexpr std::size_t kGrowth = 4;
    const std::size_t kept = rest_.size();
    const bool is_long = kept > usual_capacity_ / kGrowth;
    if (kept > capacity_ / kGrowth) {
        capacity_ = std::min<std::size_t>(kGrowth * capacity_, 2 * rules_.max_record + usual_capacity_);
    }
    const std::span<std::uint8_t> all = memory_.grow(capacity_, rest_).first(capacity_);
    std::size_t size = kept;
    do {
        const std::size_t got = is_at_end_ ? 0 : read_on_(all.subspan(size));
        is_at_end_ = got == 0;
        size += got;
    } while (is_long && !is_at_end_ && size < all.size());
    rest_ = all.first(size);
    return size > kept;
}

// Reads the records in bytes of rest_.
RecordBlock Sieve::read(std::size_t from, std::size_t size, bool at_end) {
    const auto bytes = rest_.subspan(from, size);
    fault_.reset();
    const RecordBlock block =
        rules_.reads_strictly() ? reader_.read_to_fault(bytes, at_end, fault_) : reader_.read(bytes, {}, at_end);
    read_ += fault_ ? fault_->at : size;
    if (fault_) fault_->at += from;
    return block;
}

// Finds out whether what is accepted before byte `end` of rest_ ends with a CR.
void Sieve::note_end(std::size_t end) {
    const bool is_behind_reject =
        !rejects_.empty() && rejects_.back().offset + rejects_.back().size == at_.offset + end;
    if (end > 0 && !is_behind_reject) is_behind_cr_ = rest_[end - 1] == '\r';
}

void Sieve::reject(std::size_t begin, std::uint64_t size, RejectKind kind, std::string reason) {
    note_end(begin);
    rejects_.push_back({at_.offset + begin, size, at_.record++, kind, std::move(reason)});
}

// Counts record r of the block, which was read from `from` on, or rejects it.
void Sieve::judge(const RecordBlock& block, std::size_t r, std::size_t from) {
    const std::size_t begin = block.rows[r].begin;
    const std::size_t fields = block.rows[r + 1].first - block.rows[r].first;
    const auto record = block.record(r);
    const std::size_t end =
        content_end(block.bytes, block.rows[r].begin, block.ends[block.rows[r + 1].first - 1], rules_.dialect);
    const auto fail = [&](RejectKind kind, std::string reason) {
        reject(from + begin, record.size(), kind, std::move(reason));
    };
    if (end == begin) {
        note_end(from + begin);
        if (is_behind_cr_ && record[0] == '\n' && rules_.dialect.terminator == Terminator::kAny)
            return fail(RejectKind::kSeam, "an LF that would complete the CR of the last accepted record");
        ++at_.record;
    } else if (fields_ != 0 && fields != fields_) {
        fail(RejectKind::kFields,
             std::to_string(fields) + (fields == 1 ? " field" : " fields") + ", not " + std::to_string(fields_));
    } else if (rules_.has(RejectKind::kEncoding) && !is_utf8(record)) {
        fail(RejectKind::kEncoding, encoding_fault(rules_.encoding));
    } else if (rules_.has(RejectKind::kNul) && std::memchr(record.data(), 0, record.size()) != nullptr) {
        fail(RejectKind::kNul, "a NUL byte");
    } else if (rules_.has(RejectKind::kJson) && !is_json(block.bytes.subspan(begin, end - begin))) {
        fail(RejectKind::kJson, "not JSON");
    } else {
        try {
            for (const KeyField& key : rules_.keys) key.raw(block, r);
            ++at_.record;
        } catch (const InputError& error) {
            fail(RejectKind::kKey, error.what());
        }
    }
}

// Rejects the line at `from`, because of the fault in it. Returns its size, or 0 if it may go on behind rest_.
std::size_t Sieve::reject_line(std::size_t from) {
    if (!rules_.has(RejectKind::kQuotes)) throw InputError(fault_->what, Place{at_.offset + fault_->at, at_.record});
    State state = State::kRecordStart;
    const auto bytes = rest_.subspan(from);
    const std::size_t size = walk_record(line_machine_, state, bytes);
    read_ += size;
    if (size == bytes.size() && state != State::kRecordStart && !is_at_end_) return 0;
    reject(from, size, RejectKind::kQuotes, fault_->what);
    return size;
}

// Settles the record at `from`, of which more than max_record bytes are there, by these. Returns the size of the line
// that is rejected, 0 if nothing can be settled, or nothing if the record ends within them.
std::optional<std::size_t> Sieve::settle_large(std::size_t from) {
    const std::size_t limit = rules_.max_record;
    const RecordBlock block = read(from, limit, true);
    // A CR at the limit belongs to the LF behind it.
    const bool is_in_pair =
        rules_.dialect.terminator != Terminator::kCr && rest_[from + limit - 1] == '\r' && rest_[from + limit] == '\n';
    if (is_in_pair && fault_ && fault_->at == from + limit - 1) fault_.reset();
    if (fault_ && block.bytes.empty()) return reject_line(from);
    const bool is_open =
        block.bytes.empty() || block.ends.back() == limit || (is_in_pair && block.ends.back() + 1 == limit);
    if (fault_ || block.record_count() > 1 || !is_open) return std::nullopt;
    if (!rules_.has(RejectKind::kSize)) throw_too_long(rules_.max_record, {at_.offset + from, at_.record});
    has_large_ = true;
    return 0;
}

// Counts or rejects the records of the block, which was read from `from` on, up to one that is too large or begins at
// `most` or later. Returns how many.
std::size_t Sieve::judge_all(const RecordBlock& block, std::size_t from, std::size_t most) {
    const std::size_t count = block.record_count();
    std::size_t r = 0;
    for (; r < count && from + block.rows[r].begin < most && block.record(r).size() <= rules_.max_record; ++r) {
        const bool is_sound = fields_ == 0 || block.rows[r + 1].first - block.rows[r].first == fields_;
        if (is_sound && !reads_bytes_) {
            ++at_.record;
        } else {
            judge(block, r, from);
        }
    }
    state_ = State::kRecordStart;
    const bool is_last = is_at_end_ && r == count && r > 0;
    if (is_last && (rejects_.empty() || rejects_.back().offset < at_.offset + from + block.rows[r - 1].begin))
        walk_record(machine_, state_, block.record(r - 1));
    return r;
}

// Settles what it can of rest_.
void Sieve::settle(bool may_be_large) {
    const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(rest_.size(), end_ - at_.offset));
    std::size_t from = 0;
    while (from < most) {
        const std::size_t all = rest_.size() - from;
        if (std::exchange(may_be_large, false) && all > rules_.max_record) {
            const auto size = settle_large(from);
            if (size == 0) break;
            from += size.value_or(0);
            if (size) continue;
        }
        const RecordBlock block = read(from, all, is_at_end_);
        const std::size_t r = judge_all(block, from, most);
        const std::size_t reach = fault_ ? std::min(fault_->at + 1, rest_.size()) : rest_.size();
        from += block.rows[r].begin;
        if (from >= most) break;
        may_be_large = reach - from > rules_.max_record;
        if (may_be_large) continue;
        const std::size_t size = fault_ ? reject_line(from) : 0;
        if (size == 0) break;
        from += size;
    }
    note_end(from);
    settled_ = rest_.first(from);
    rest_ = rest_.subspan(from);
    at_.offset += from;
}

// Rejects the record that rest_ begins with.
void Sieve::pass_large() {
    std::uint64_t all = 0;
    State state = State::kRecordStart;
    do {
        const std::size_t size = walk_record(machine_, state, rest_);
        if (rules_.keeps_texts) large_.append(rest_.first(size));
        all += size;
        rest_ = rest_.subspan(size);
    } while (rest_.empty() && state != State::kRecordStart && fill());
    reject(0, all, RejectKind::kSize, "more than " + std::to_string(rules_.max_record) + " bytes");
    at_.offset += all;
    is_new_ = true;
    has_large_ = false;
}

std::span<const std::uint8_t> Sieve::text(const Reject& reject) const {
    const std::uint64_t begin = at_.offset - settled_.size();
    if (settled_.empty()) return {};
    return settled_.subspan(static_cast<std::size_t>(reject.offset - begin), static_cast<std::size_t>(reject.size));
}

std::span<const std::uint8_t> Sieve::accepted() {
    if (rejects_.empty() || settled_.empty()) return settled_;
    accepted_.clear();
    auto from = settled_.begin();
    for (const Reject& reject : rejects_) {
        const auto bytes = text(reject);
        const auto to = settled_.begin() + (bytes.data() - settled_.data());
        accepted_.insert(accepted_.end(), from, to);
        from = to + static_cast<std::ptrdiff_t>(bytes.size());
    }
    accepted_.insert(accepted_.end(), from, settled_.end());
    return accepted_;
}

}  // namespace cleave
