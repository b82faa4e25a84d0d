// A blob is read in full first, by all threads, in guessed batches (see rows/records/batch_loop.h). Each is settled by
// a sieve; a fault at its end may need bytes behind it. What is left is then a blob, too, and everything else works on
// it as on any other. Nothing is copied; if nothing was rejected, the blob stays as it is.
//
// A stream is sifted on its way.
#include <algorithm>
#include <utility>
#include <vector>

#include "base/text_bytes.h"
#include "base/utf8.h"
#include "cleave/rejects.h"
#include "core/offsets/input_head.h"
#include "core/reader/file_blob.h"
#include "core/reader/input_parts.h"
#include "core/scan/check_arguments.h"
#include "engine/joined.h"
#include "features/rejects/reject_file.h"
#include "features/rejects/shifts.h"
#include "features/rejects/sieve.h"
#include "rows/memory/value_buffer.h"
#include "rows/records/batch_loop.h"
#include "rows/records/private_bytes.h"
#include "rows/values/index_columns.h"

namespace cleave {
namespace {

// The bytes of a blob without those that were left out.
class SiftedBlob final : public FileBlob {
public:
    SiftedBlob(std::unique_ptr<FileBlob> whole, std::shared_ptr<const Shifts> shifts)
        : FileBlob(whole->source(), whole->size() - shifts->size()),
          whole_(std::move(whole)),
          shifts_(std::move(shifts)) {}

    std::span<const std::uint8_t> lend(std::uint64_t offset, std::size_t size,
                                       std::vector<std::uint8_t>& buffer) const override {
        check_range(offset, size);
        if (shifts_->size_at(offset, size) == size)
            return whole_->lend(shifts_->in_input({offset, 0}).offset, size, buffer);
        if (buffer.size() < size) buffer.resize(size);
        const auto bytes = std::span(buffer).first(size);
        read(offset, bytes);
        return bytes;
    }
    void read(std::uint64_t offset, std::span<std::uint8_t> into) const override {
        shifts_->for_each_part(offset, into.size(), [&](std::uint64_t from, std::size_t size) {
            copy_bytes(*whole_, from, into.first(size));
            into = into.subspan(size);
        });
    }
    bool has_lost() const noexcept override { return whole_->has_lost(); }
    BlobBacking backing() const noexcept override { return {}; }
    void will_read(BlobRange range) const noexcept override {
        const Place begin = shifts_->in_input({range.offset, 0});
        const Place end = shifts_->in_input({range.offset + range.size, 0});
        whole_->will_read({begin.offset, std::min(end.offset, whole_->size()) - begin.offset});
    }
    std::uint64_t best_size() const noexcept override { return whole_->best_size(); }
    // Short parts are put together, because each is a write.
    std::uint64_t unbroken(std::uint64_t offset, std::uint64_t size) const override {
        constexpr std::uint64_t kLeast = std::uint64_t{32} << 10;
        const std::uint64_t part = shifts_->size_at(offset, size);
        return part < kLeast ? std::min(kLeast, size) : part;
    }
    void set_threads(unsigned threads) noexcept override { whole_->set_threads(threads); }

private:
    const std::unique_ptr<FileBlob> whole_;
    const std::shared_ptr<const Shifts> shifts_;
};

std::uint8_t kinds_of(const RejectOptions& options, const Dialect& dialect, Encoding encoding) {
    std::uint8_t by_default = is_json_lines(dialect)
                                  ? bits_of(RejectKind::kJson, RejectKind::kSize)
                                  : bits_of(RejectKind::kFields, RejectKind::kQuotes, RejectKind::kSize);
    if (encoding != Encoding::kBytes) by_default |= bits_of(RejectKind::kEncoding);
    const std::uint8_t kinds = options.kinds.value_or(by_default);
    const std::uint8_t all_but_quotes = UINT8_MAX - bits_of(RejectKind::kQuotes);
    return options.has_texts ? kinds : static_cast<std::uint8_t>(kinds & all_but_quotes);
}

class Rejects final : public Sifting {
public:
    Rejects(Input& input, const Dialect& dialect, const Policy& policy, const RejectOptions& options,
            const Execution& execution, JoinedInputs* joined)
        : input_(input),
          joined_(joined),
          options_(options),
          kernel_(checked_kernel(execution)),
          memory_(MemoryManager::or_default(execution.memory)),
          head_(read_head(input, dialect, policy.header, options.max_record)),
          rules_{dialect,
                 kinds_of(options, dialect, input.encoding()),
                 !options.has_texts,
                 options.fields,
                 options.max_record,
                 options.has_texts,
                 input.encoding()},
          file_(options, input, head_.has_header ? head_.bytes : std::vector<std::uint8_t>()) {
        heed_head();
        take_keys(policy);
    }

    void sift_blob(const Execution& execution);
    static void sift_stream(const std::shared_ptr<Rejects>& self);

    RejectCounts publish() override {
        file_.publish();
        counts_.path = options_.path;
        counts_.file_size = file_.size();
        counts_.crc32c = file_.crc32c();
        return counts_;
    }
    void commit() noexcept override { file_.commit(); }
    Place in_input(const Place& place) const override { return has_failed_ ? place : shifts_->in_input(place); }

private:
    class Consumer;

    void heed_head();
    void take_keys(const Policy& policy);
    void judge(Place end, bool at_end);
    std::uint64_t permitted(std::uint64_t records) const;
    std::span<const std::uint8_t> read_stream(std::size_t most);
    std::span<const std::uint8_t> next();
    SieveInOrder sieve_from(Place place);
    bool begins_next();
    void reject(const Reject& reject, std::uint64_t record, std::span<const std::uint8_t> text,
                const SpillBuffer* large);

    RejectSink sink() {
        return [this](const Reject& one, std::uint64_t record, std::span<const std::uint8_t> text,
                      const SpillBuffer* large) { reject(one, record, text, large); };
    }

    Input& input_;
    JoinedInputs* const joined_;  // null if there is one input
    const RejectOptions options_;
    const Kernel& kernel_;
    const std::shared_ptr<MemoryManager> memory_;
    const InputHead head_;
    SieveRules rules_;
    RejectFile file_;
    RejectCounts counts_;
    std::vector<std::string> first_;  // rejects, for a message
    const std::shared_ptr<Shifts> shifts_ = std::make_shared<Shifts>();
    // Of a stream:
    std::uint64_t head_left_ = 0;  // bytes that precede the first record that may be rejected
    FileStream::Reader reader_;
    std::span<const std::uint8_t> rest_;  // read, and not passed on
    std::optional<SieveInOrder> in_order_;
    bool has_failed_ = false;  // an error comes from the sieve
};

// Finds the number of fields, and refuses a fault in the header or in the record that stands for it.
void Rejects::heed_head() {
    const bool takes_encoding = (rules_.kinds & bits_of(RejectKind::kEncoding)) != 0;
    if (takes_encoding && rules_.encoding != Encoding::kBytes && !is_utf8(head_.bytes)) {
        const Reject header{
            .offset = 0, .size = 0, .before = 0, .kind = RejectKind::kEncoding, .what = "", .fields = 0};
        throw InputError("the header is bad: " + reason_of(header, rules_), head_.sample_place);
    }
    if (head_.sample.empty() || (!head_.has_header && rules_.fields > 0) || is_json_lines(rules_.dialect)) return;
    const bool is_strict = (rules_.kinds & bits_of(RejectKind::kQuotes)) != 0 || rules_.refuses_quotes;
    FieldReader reader(rules_.dialect, kernel_, Reading::kByDialect, 0, memory_);
    std::optional<FieldReader::QuoteFault> fault;
    const RecordBlock block =
        is_strict ? reader.read_to_fault(head_.sample, true, fault) : reader.read(head_.sample, {}, true);
    if (fault) throw InputError(fault->what, head_.sample_place);
    rules_.fields = block.ends.size();
}

void Rejects::take_keys(const Policy& policy) {
    const Dialect& dialect = rules_.dialect;
    if (!is_json_lines(dialect) && std::ranges::all_of(head_.sample, is_line_break)) return;
    const InputColumns columns = columns_of_record(head_.sample, dialect, head_.has_header);
    if (policy.by) {
        for (const KeyColumn& column : find_key_columns(*policy.by, columns))
            rules_.keys.emplace_back(dialect, column, policy.by->accepts_missing);
    }
    if (policy.together)
        rules_.keys.emplace_back(dialect, find_key_column(*policy.together, columns), policy.together->accepts_missing);
}

// How many rejects are permitted among that many records.
std::uint64_t Rejects::permitted(std::uint64_t records) const {
    const double share = static_cast<double>(records) / 1e6 * static_cast<double>(options_.per_million);
    return std::max(static_cast<std::uint64_t>(share), options_.at_least);
}

// Throws if too many of the records before `end` are bad, even if each byte of a blob behind them were a good one.
void Rejects::judge(Place end, bool at_end) {
    at_end = at_end || (!input_.is_stream() && end.offset == input_.blob().size());
    counts_.accepted = end.record - head_.records - counts_.rejected;
    if (counts_.rejected == 0) return;
    const std::uint64_t all = counts_.accepted + counts_.rejected;
    std::uint64_t most = all;
    if (!at_end) most += input_.is_stream() ? UINT64_MAX / 2 : input_.blob().size() - end.offset;
    const bool is_none_left = at_end && counts_.accepted == 0;
    if (counts_.rejected <= permitted(most) && !is_none_left) return;
    std::string text = std::to_string(counts_.rejected) + " of " + (at_end ? "" : "the first ") + std::to_string(all) +
                       " records are bad, " + (is_none_left ? "so none is left" : "more than --max-rejects permits");
    for (const std::string& reject : first_) text += "; " + reject;
    throw InputError(text);
}

void Rejects::reject(const Reject& reject, std::uint64_t record, std::span<const std::uint8_t> text,
                     const SpillBuffer* large) {
    constexpr std::size_t kMostNamed = 3;
    InputPlace at{0, {reject.offset, record}, head_.records};
    if (joined_ != nullptr) at = joined_->find(at.place);
    const Place place{at.place.offset, at.place.record - at.header_records};  // the header is not counted
    const std::string name = joined_ != nullptr ? joined_->location(at.input).shown() : "";
    const std::string reason = reason_of(reject, rules_);
    if (first_.size() < kMostNamed) {
        first_.push_back((name.empty() ? "" : name + ": ") + "record " + std::to_string(place.record + 1) + ", byte " +
                         std::to_string(place.offset) + ": " + reason);
    }
    file_.add(place, reject.size, reason, options_.has_texts ? &text : nullptr, options_.has_texts ? large : nullptr,
              name);
    ++counts_.rejected;
    counts_.size += reject.size;
    shifts_->leave_out(reject.offset - shifts_->size(), reject.size);
}

// Settles guessed batches. For BatchLoop.
class Rejects::Consumer {
public:
    explicit Consumer(Rejects& rejects)
        : rejects_(rejects), sieve_(rejects.rules_, rejects.kernel_, rejects.memory_), ahead_(rejects.memory_) {}

    void work(const Batch& batch) {
        sieve_.clear();
        texts_.clear();
        size_ = batch.bytes.size();
        std::size_t settled = sieve_.settle(batch.bytes, batch.place.offset, batch.is_last, batch.bytes.size());
        keep(batch.bytes, batch.place.offset);
        if (settled < batch.bytes.size() && !batch.is_last) settled = look_ahead(batch, settled);
        if (settled != batch.bytes.size()) throw DoubtfulBatch();
    }

    std::uint64_t emit(Place place) {
        std::size_t at = 0;
        for (const Reject& reject : sieve_.rejects()) {
            const std::size_t size = rejects_.options_.has_texts ? reject.size : 0;
            const auto text = std::span(texts_).subspan(at, size);
            at += size;
            rejects_.reject(reject, place.record + reject.before, text, nullptr);
        }
        if (const Cancellation* const cancellation = rejects_.input_.cancellation()) cancellation->throw_if_requested();
        rejects_.judge({place.offset + size_, place.record + sieve_.records()}, false);
        return sieve_.records();
    }

private:
    // Keeps the bytes of the rejects in `bytes`, which begin at byte `offset`, that are not kept yet.
    void keep(std::span<const std::uint8_t> bytes, std::uint64_t offset) {
        if (!rejects_.options_.has_texts) return;
        for (const Reject& reject : std::span(sieve_.rejects()).subspan(kept_)) {
            const auto text = bytes.subspan(static_cast<std::size_t>(reject.offset - offset), reject.size);
            texts_.insert(texts_.end(), text.begin(), text.end());
        }
    }

    // Settles the last records of the batch with the help of the bytes behind it: as many as it takes to find a fault.
    std::size_t look_ahead(const Batch& batch, std::size_t settled) {
        const Blob& blob = rejects_.input_.blob();
        const std::uint64_t end = batch.place.offset + batch.bytes.size();
        std::size_t size = batch.bytes.size();
        while (settled < batch.bytes.size() && !sieve_.is_too_large()) {
            const std::uint64_t from = batch.place.offset + settled;
            size = static_cast<std::size_t>(std::min<std::uint64_t>(4 * size, blob.size() - from));
            ahead_.renew(size);
            const std::span<std::uint8_t> bytes(ahead_.data(), size);
            blob.read(from, bytes);
            const bool at_end = from + size == blob.size();
            const auto before = sieve_.rejects().size();
            kept_ = before;
            const std::size_t more = sieve_.settle(bytes, from, at_end, static_cast<std::size_t>(end - from));
            keep(bytes, from);
            settled += more;
            if (more == 0 && (at_end || size > rejects_.rules_.max_record)) break;
        }
        kept_ = 0;
        return settled;
    }

    Rejects& rejects_;
    Sieve sieve_;
    ValueBuffer ahead_;
    std::vector<std::uint8_t> texts_;  // of the rejects, one after the other
    std::size_t size_ = 0;             // of the batch
    std::size_t kept_ = 0;             // how many rejects have theirs there
};

void Rejects::sift_blob(const Execution& execution) {
    const std::uint64_t begin = head_.size;
    const Blob& blob = input_.blob();
    BatchLoop loop(blob, {begin, blob.size() - begin}, head_.records, rules_.dialect, kernel_,
                   input_.is_mapped() ? BatchAccess::kMapping : BatchAccess::kFile,
                   {std::min(kBlockSize, execution.block_size), rules_.max_record, execution.meter, memory_});
    loop.run_guessed(
        execution.thread_count(), [this] { return Consumer(*this); },
        [&](Place at, bool is_all) {
            std::uint64_t offset = at.offset;
            const auto read = [&](std::span<std::uint8_t> into) {
                const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), blob.size() - offset));
                blob.read(offset, into.first(size));
                offset += size;
                return size;
            };
            SieveInOrder sieve(rules_, kernel_, memory_, at, read, sink());
            while (sieve.next() && (is_all || sieve.at() == at)) {
                if (const Cancellation* const c = input_.cancellation()) c->throw_if_requested();
            }
            return sieve.at();
        });
    input_.throw_if_changed();
    judge(loop.at(), true);
    if (counts_.rejected == 0) return;
    InputParts::replace_blob(input_, [this](std::unique_ptr<FileBlob> whole) {
        return std::make_unique<SiftedBlob>(std::move(whole), shifts_);
    });
}

// The next bytes of the stream, at most `most`.
std::span<const std::uint8_t> Rejects::read_stream(std::size_t most) {
    if (rest_.empty()) rest_ = reader_();
    const auto bytes = rest_.first(std::min(most, rest_.size()));
    rest_ = rest_.subspan(bytes.size());
    return bytes;
}

// What is left of the stream: first its head as it is.
std::span<const std::uint8_t> Rejects::next() {
    if (head_left_ > 0) {
        const auto bytes = read_stream(static_cast<std::size_t>(head_left_));
        head_left_ -= bytes.size();
        if (!bytes.empty()) return bytes;
    }
    has_failed_ = true;  // until it is known that the sieve, which knows the place in the input, has not thrown
    do {
        while (in_order_->next()) {
            judge(in_order_->at(), false);
            if (in_order_->accepted().empty()) continue;
            has_failed_ = false;
            return in_order_->accepted();
        }
    } while (begins_next());
    judge(in_order_->at(), true);
    has_failed_ = false;
    return {};
}

SieveInOrder Rejects::sieve_from(Place place) {
    const auto read = [this](std::span<std::uint8_t> into) {
        const auto bytes = read_stream(into.size());
        std::ranges::copy(bytes, into.begin());
        return bytes.size();
    };
    return {rules_, kernel_, memory_, place, read, sink()};
}

// Goes on with the next of several inputs.
bool Rejects::begins_next() {
    if (joined_ == nullptr) return false;
    const Place at = in_order_->at();
    joined_->go_on(at.record);
    rest_ = reader_();
    if (rest_.empty()) return false;
    in_order_.emplace(sieve_from(at));
    return true;
}

void Rejects::sift_stream(const std::shared_ptr<Rejects>& self) {
    self->head_left_ = self->head_.size;
    self->in_order_.emplace(self->sieve_from({self->head_.size, self->head_.records}));
    self->reader_ = InputParts::stream(self->input_)->set_filter([self] { return self->next(); });
}

void check(const RejectOptions& options) {
    if (options.max_record < 1 || options.max_record > kMaxRecordLimit)
        throw ArgumentError("rejects: max_record must be 1 to " + std::to_string(kMaxRecordLimit));
    if (options.kinds && *options.kinds >= 2 * bits_of(RejectKind::kJson))
        throw ArgumentError("rejects: an unknown kind");
}

}  // namespace

std::shared_ptr<Sifting> sift(Input& input, const Dialect& dialect, const Policy& policy, const RejectOptions& options,
                              const Execution& execution, JoinedInputs* joined) {
    check(options);
    const auto rejects = std::make_shared<Rejects>(input, dialect, policy, options, execution, joined);
    if (input.is_stream()) {
        Rejects::sift_stream(rejects);
    } else {
        rejects->sift_blob(execution);
    }
    return rejects;
}

}  // namespace cleave
