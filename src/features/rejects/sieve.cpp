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

}  // namespace

Sieve::Sieve(const SieveRules& rules, const Kernel& kernel, std::shared_ptr<MemoryManager> memory)
    : rules_(rules),
      reads_strictly_(has(RejectKind::kQuotes) || rules.refuses_quotes),
      reads_bytes_(has(RejectKind::kEncoding) || has(RejectKind::kNul) || has(RejectKind::kJson) ||
                   !rules.keys.empty()),
      line_machine_(without_quotes(rules.dialect)),
      reader_(rules.dialect, kernel, Reading::kByDialect, 0, std::move(memory)) {}

// Reads `bytes`, which are at `from` in what is settled.
RecordBlock Sieve::read(std::span<const std::uint8_t> bytes, std::size_t from, bool at_end) {
    fault_.reset();
    const RecordBlock block =
        reads_strictly_ ? reader_.read_to_fault(bytes, at_end, fault_) : reader_.read(bytes, {}, at_end);
    read_ += fault_ ? fault_->at : bytes.size();
    if (fault_) fault_offset_ = offset_ + from + fault_->at;
    return block;
}

void Sieve::reject(std::size_t begin, std::size_t size, RejectKind kind, std::string what, std::size_t fields) {
    rejects_.push_back({offset_ + begin, size, records_++, kind, std::move(what), static_cast<std::uint32_t>(fields)});
}

// Counts record r of the block, or rejects it.
void Sieve::judge(const RecordBlock& block, std::size_t r) {
    const std::size_t count = block.rows[r + 1].first - block.rows[r].first;
    const bool has_fields = rules_.fields == 0 || !has(RejectKind::kFields) || count == rules_.fields;
    const std::uint32_t begin = block.rows[r].begin;
    const auto record = block.record(r);
    const auto end = [&] {
        return content_end(block.bytes, begin, block.ends[block.rows[r + 1].first - 1], rules_.dialect);
    };
    const std::size_t at = static_cast<std::size_t>(block.place.offset) + begin;
    std::optional<RejectKind> kind;
    if ((has_fields && !reads_bytes_) || end() == begin) {
        ++records_;
        return;
    }
    if (!has_fields) {
        kind = RejectKind::kFields;
    } else if (has(RejectKind::kEncoding) && !is_utf8(record)) {
        kind = RejectKind::kEncoding;
    } else if (has(RejectKind::kNul) && std::memchr(record.data(), 0, record.size()) != nullptr) {
        kind = RejectKind::kNul;
    } else if (has(RejectKind::kJson) && !is_json(block.bytes.subspan(begin, end() - begin))) {
        kind = RejectKind::kJson;
    }
    std::string fault;
    try {
        for (const KeyField& key : rules_.keys) {
            if (!kind) key.raw(block, r);
        }
    } catch (const InputError& error) {
        kind = RejectKind::kKey;
        fault = error.what();
    }
    if (kind) {
        reject(at, record.size(), *kind, std::move(fault), count);
    } else {
        ++records_;
    }
}

// The size of the line that the bytes begin with; 0 if it does not end in them.
std::size_t Sieve::end_of_line(std::span<const std::uint8_t> bytes, bool at_end) {
    std::size_t at = 0;
    if (rules_.dialect.terminator == Terminator::kLf && !rules_.dialect.escape) {
        const void* const found = std::memchr(bytes.data(), '\n', bytes.size());
        at = found == nullptr ? bytes.size()
                              : static_cast<std::size_t>(static_cast<const std::uint8_t*>(found) - bytes.data()) + 1;
        read_ += at;
        return found != nullptr || at_end ? at : 0;
    }
    State state = State::kRecordStart;
    for (; at < bytes.size(); ++at) {
        const Transition& transition = line_machine_.step(state, bytes[at]);
        if (transition.starts_record && at > 0) break;
        state = transition.next;
    }
    read_ += at;
    const bool is_whole = at < bytes.size() || state == State::kRecordStart;
    return is_whole || at_end ? at : 0;
}

// Rejects the line at `from`, because of the fault in it. Returns its size, or 0 if it does not end in the bytes.
std::size_t Sieve::reject_line(std::span<const std::uint8_t> bytes, std::size_t from, bool at_end) {
    if (!has(RejectKind::kQuotes)) throw InputError(fault_->what, Place{fault_offset_, records_});
    const char* const what = fault_->what;
    const std::size_t size = end_of_line(bytes.subspan(from), at_end);
    if (size > 0) reject(from, size, RejectKind::kQuotes, what);
    return size;
}

// Settles the record at `from`, of which more than max_record bytes are there, by these. Returns the size of the line
// that is rejected, 0 if nothing can be settled, or nothing if the record ends within them.
std::optional<std::size_t> Sieve::settle_large(std::span<const std::uint8_t> bytes, std::size_t from, bool at_end) {
    const auto rest = bytes.subspan(from);
    const std::size_t limit = rules_.max_record;
    const RecordBlock block = read(rest.first(limit), from, true);
    // A CR at the limit belongs to the LF behind it.
    const bool is_in_pair =
        rules_.dialect.terminator != Terminator::kCr && rest[limit - 1] == '\r' && rest[limit] == '\n';
    if (is_in_pair && fault_ && fault_->at == limit - 1) fault_.reset();
    if (fault_ && block.bytes.empty()) return reject_line(bytes, from, at_end);
    const bool is_open =
        block.bytes.empty() || block.ends.back() == limit || (is_in_pair && block.ends.back() + 1 == limit);
    if (fault_ || block.record_count() > 1 || !is_open) return std::nullopt;
    if (!has(RejectKind::kSize)) throw_too_long(rules_.max_record, {offset_ + from, records_});
    is_too_large_ = true;
    return 0;
}

std::size_t Sieve::settle(std::span<const std::uint8_t> bytes, std::uint64_t offset, bool at_end, std::size_t most) {
    offset_ = offset;
    is_too_large_ = false;
    // What did not end before may be long, so its beginning is read first, lest all of it is read once more.
    bool may_be_large = std::exchange(unfinished_, 0) > 0;
    std::size_t from = 0;
    while (from < most) {
        if (std::exchange(may_be_large, false) && bytes.size() - from > rules_.max_record) {
            const auto size = settle_large(bytes, from, at_end);
            if (size == 0) break;
            from += size.value_or(0);
            if (size) continue;
        }
        RecordBlock block = read(bytes.subspan(from), from, at_end);
        block.place.offset = from;
        const std::size_t records = block.record_count();
        std::size_t r = 0;
        while (r < records && from + block.rows[r].begin < most && block.record(r).size() <= rules_.max_record) {
            judge(block, r++);
        }
        const std::size_t begin = block.rows[r].begin;
        const std::size_t all = bytes.size() - from;
        const std::size_t reach = fault_ ? std::min(fault_->at + 1, all) : all;
        from += begin;
        if (from >= most || from == bytes.size()) break;
        may_be_large = reach - begin > rules_.max_record;
        if (may_be_large) continue;
        const std::size_t size = fault_ ? reject_line(bytes, from, at_end) : 0;
        if (size == 0) break;
        from += size;
    }
    unfinished_ = bytes.size() - from;
    return from;
}

std::string reason_of(const Reject& reject, const SieveRules& rules) {
    switch (reject.kind) {
        case RejectKind::kFields:
            return std::to_string(reject.fields) + (reject.fields == 1 ? " field" : " fields") + ", not " +
                   std::to_string(rules.fields);
        case RejectKind::kQuotes:
        case RejectKind::kKey: return reject.what;
        case RejectKind::kSize: return "more than " + std::to_string(rules.max_record) + " bytes";
        case RejectKind::kEncoding:
            if (rules.encoding < Encoding::kFirstCharset) return "not UTF-8";
            return "a byte that " + std::string(encoding_name(rules.encoding)) + " does not define";
        case RejectKind::kNul: return "a NUL byte";
        case RejectKind::kJson: break;
    }
    return "not JSON";
}

// The buffer holds the record in progress, and grows with it: to twice max_record at most, because a larger record is
// rejected, and passes through in parts.

SieveInOrder::SieveInOrder(const SieveRules& rules, const Kernel& kernel, std::shared_ptr<MemoryManager> memory,
                           Place begin, Read read, RejectSink sink, std::size_t capacity)
    : rules_(rules),
      sieve_(rules, kernel, std::move(memory)),
      machine_(rules.dialect),
      read_(std::move(read)),
      sink_(std::move(sink)),
      at_(begin),
      usual_capacity_(capacity),
      capacity_(capacity) {}

// Reads behind rest_. Returns how many bytes. If rest_ is long, fills the buffer, so that it is seldom read again.
std::size_t SieveInOrder::fill() {
    constexpr std::size_t kGrowth = 4;
    const std::size_t kept = rest_.size();
    const bool is_long = kept > usual_capacity_ / kGrowth;
    if (kept > capacity_ / kGrowth) {
        capacity_ = std::min<std::size_t>(kGrowth * capacity_, 2 * rules_.max_record + usual_capacity_);
    }
    const std::span<std::uint8_t> all = memory_.grow(capacity_, rest_).first(capacity_);
    std::size_t size = kept;
    do {
        const std::size_t got = is_at_end_ ? 0 : read_(all.subspan(size));
        is_at_end_ = got == 0;
        size += got;
    } while (is_long && !is_at_end_ && size < all.size());
    rest_ = all.first(size);
    return size - kept;
}

bool SieveInOrder::next() {
    accepted_ = {};
    if (has_large_) {
        pass_large();
        return true;
    }
    fill();
    if (rest_.empty()) return false;
    settle();
    return true;
}

// Settles what it can of rest_, and moves what is accepted to the front.
void SieveInOrder::settle() {
    sieve_.clear();
    std::size_t settled = 0;
    try {
        settled = sieve_.settle(rest_, at_.offset, is_at_end_, rest_.size());
    } catch (const InputError& error) {
        throw InputError(error.what(), Place{error.place()->offset, at_.record + error.place()->record});
    }
    has_large_ = sieve_.is_too_large();
    std::uint8_t* accepted = rest_.data();
    std::size_t from = 0;
    const auto accept = [&](std::size_t to) {
        if (accepted != rest_.data() + from) std::memmove(accepted, rest_.data() + from, to - from);
        accepted += to - from;
    };
    for (const Reject& reject : sieve_.rejects()) {
        const auto begin = static_cast<std::size_t>(reject.offset - at_.offset);
        sink_(reject, at_.record + reject.before, rest_.subspan(begin, reject.size), nullptr);
        accept(begin);
        from = begin + static_cast<std::size_t>(reject.size);
    }
    accept(settled);
    accepted_ = {rest_.data(), accepted};
    at_ = {at_.offset + settled, at_.record + sieve_.records()};
    rest_ = rest_.subspan(settled);
}

// Rejects the record that rest_ begins with.
void SieveInOrder::pass_large() {
    SpillBuffer text;
    std::uint64_t all = 0;
    State state = State::kRecordStart;
    bool is_whole = false;
    do {
        std::size_t size = 0;
        for (; size < rest_.size() && !is_whole; ++size) {
            const Transition& transition = machine_.step(state, rest_[size]);
            is_whole = transition.starts_record && all + size > 0;
            state = transition.next;
        }
        if (is_whole) --size;
        if (rules_.keeps_texts) text.append(rest_.first(size));
        all += size;
        rest_ = rest_.subspan(size);
    } while (!is_whole && fill() > 0);
    const Reject reject{at_.offset, all, 0, RejectKind::kSize, {}, 0};
    sink_(reject, at_.record, {}, &text);
    at_ = {at_.offset + all, at_.record + 1};
    has_large_ = false;
}

}  // namespace cleave
