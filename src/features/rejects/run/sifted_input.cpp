// A blob is read in full first, by all threads, in batches whose ends are guessed (see rows/records/guessed_batches.h).
// What is left is then a blob, too, and everything else works on it as on any other. Nothing is copied; if nothing was
// rejected, the blob stays as it is.
//
//   pull   the next batch
//   work   guess its ends, and sift it
//   emit   if the batch begins where those before it ended: list its rejects
//          otherwise sift from there on, in order
//
// After kMostDoubts wrong guesses the rest is sifted in order. A stream is sifted on its way.
#include <algorithm>
#include <atomic>
#include <tuple>
#include <utility>
#include <vector>

#include "base/ordered.h"
#include "base/text_bytes.h"
#include "base/utf8.h"
#include "cleave/rejects.h"
#include "core/offsets/input_head.h"
#include "core/reader/copy.h"
#include "core/reader/file_blob.h"
#include "core/reader/input_parts.h"
#include "core/scan/check_arguments.h"
#include "engine/joined.h"
#include "features/rejects/reject_file.h"
#include "features/rejects/shifts.h"
#include "features/rejects/sieve.h"
#include "rows/records/batch_loop.h"
#include "rows/records/private_bytes.h"
#include "rows/values/index_columns.h"

namespace cleave {
namespace {

using Octets = std::span<const std::uint8_t>;

// The bytes of a blob without those that were left out.
class SiftedBlob final : public FileBlob {
public:
    SiftedBlob(std::unique_ptr<FileBlob> whole, std::shared_ptr<const Shifts> shifts)
        : FileBlob(whole->source(), whole->size() - shifts->size()),
          whole_(std::move(whole)),
          shifts_(std::move(shifts)) {}

    void read(std::uint64_t offset, std::span<std::uint8_t> into) const override {
        shifts_->for_each_part(offset, into.size(), [&](Place at, std::uint64_t size) {
            copy_bytes(*whole_, at.offset, into.first(static_cast<std::size_t>(size)));
            into = into.subspan(static_cast<std::size_t>(size));
            return true;
        });
    }
    std::span<const std::uint8_t> mapped(std::uint64_t offset, std::uint64_t size) const noexcept override {
        return first_part(offset, size) == size ? whole_->mapped(place(offset), size) : std::span<const std::uint8_t>();
    }
    bool has_lost() const noexcept override { return whole_->has_lost(); }
    BlobBacking backing() const noexcept override { return {}; }
    void will_read(BlobRange range) const noexcept override {
        const std::uint64_t begin = place(range.offset);
        whole_->will_read({begin, std::min(place(range.offset + range.size), whole_->size()) - begin});
    }
    std::uint64_t best_size() const noexcept override { return whole_->best_size(); }
    // Short parts are put together, because each is a write.
    std::uint64_t unbroken(std::uint64_t offset, std::uint64_t size) const override {
        constexpr std::uint64_t kLeast = std::uint64_t{32} << 10;
        const std::uint64_t part = first_part(offset, size);
        return part < kLeast ? std::min(kLeast, size) : part;
    }
    void set_threads(unsigned threads) noexcept override { whole_->set_threads(threads); }

private:
    std::uint64_t place(std::uint64_t offset) const { return shifts_->in_input({offset, 0}).offset; }
    // How many of these bytes are next to each other in the input, from the first one on.
    std::uint64_t first_part(std::uint64_t offset, std::uint64_t size) const {
        shifts_->for_each_part(offset, size, [&](Place, std::uint64_t here) {
            size = here;
            return false;
        });
        return size;
    }

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
          execution_(execution),
          kernel_(checked_kernel(execution)),
          memory_(MemoryManager::or_default(execution.memory)),
          head_(read_head(input, dialect, policy.header, options.max_record)),
          rules_{dialect,
                 kinds_of(options, dialect, input.encoding()),
                 !options.has_texts,
                 options.fields,
                 options.max_record,
                 options.has_texts && input.is_stream(),
                 input.encoding()},
          file_(options, input, head_.has_header ? head_.bytes : std::vector<std::uint8_t>()) {
        heed_head();
        take_keys(policy);
    }

    void sift_blob(const Place& begin);
    // `self` owns this object.
    void sift_stream(const std::shared_ptr<Rejects>& self) {
        head_left_ = head_.size;
        sieve_.emplace(rules_, kernel_, memory_);
        const Octets head = input_.peek(static_cast<std::size_t>(head_.size));
        begin(body(), !head.empty() && head.back() == '\r');
        reader_ = InputParts::stream(input_)->set_filter([self] { return self->next(); });
    }

    // Where the first record is that may be rejected.
    Place body() const { return {head_.size, head_.records}; }
    // Whether the reader of a blob will find each fault by itself. It finds no record that is too large in a batch.
    bool may_wait() const {
        constexpr std::uint8_t kFound = bits_of(RejectKind::kFields, RejectKind::kSize);
        return options_.waits && (rules_.kinds | kFound) == kFound && rules_.keys.empty() && options_.fields == 0 &&
               options_.max_record > 4 * kBlockSize;
    }

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
    class Slot;
    static constexpr unsigned kMostDoubts = 8;

    // Finds the number of fields, and refuses a fault in the header or in the record that stands for it.
    void heed_head() {
        const Octets head = head_.has_header ? Octets(head_.bytes) : Octets();
        if (rules_.has(RejectKind::kEncoding) && !is_utf8(head))
            throw InputError("the header is bad: " + encoding_fault(rules_.encoding), head_.sample_place);
        if (rules_.has(RejectKind::kNul) && std::ranges::find(head, 0) != head.end())
            throw InputError("the header is bad: a NUL byte", head_.sample_place);
        const bool is_known = !head_.has_header && rules_.fields > 0;
        if (std::ranges::all_of(head_.sample, is_line_break) || is_known || is_json_lines(rules_.dialect)) return;
        FieldReader reader(rules_.dialect, kernel_, Reading::kByDialect, 0, memory_);
        std::optional<FieldReader::QuoteFault> fault;
        const RecordBlock block = rules_.reads_strictly() ? reader.read_to_fault(head_.sample, true, fault)
                                                          : reader.read(head_.sample, {}, true);
        if (fault) throw InputError(fault->what, head_.sample_place);
        rules_.fields = block.ends.size();
    }

    void take_keys(const Policy& policy) {
        const Dialect& dialect = rules_.dialect;
        if (!is_json_lines(dialect) && std::ranges::all_of(head_.sample, is_line_break)) return;
        const InputColumns columns = columns_of_record(head_.sample, dialect, head_.has_header);
        if (policy.by) {
            for (const KeyColumn& column : find_key_columns(*policy.by, columns))
                rules_.keys.emplace_back(dialect, column, policy.by->accepts_missing);
        }
        if (policy.together)
            rules_.keys.emplace_back(dialect, find_key_column(*policy.together, columns),
                                     policy.together->accepts_missing);
    }

    // How many rejects are permitted among that many records.
    std::uint64_t permitted(std::uint64_t records) const {
        const double share = static_cast<double>(records) / 1e6 * static_cast<double>(options_.per_million);
        return std::max(static_cast<std::uint64_t>(share), options_.at_least);
    }

    void reject(Reject reject, RejectFile::Text text) {
        constexpr std::size_t kMostNamed = 3;
        InputPlace at{0, {reject.offset, reject.record}, head_.records};
        if (joined_ != nullptr) at = joined_->find(at.place);
        shifts_->leave_out(reject.offset - shifts_->size(), reject.size);
        reject.offset = at.place.offset;
        reject.record = at.place.record - at.header_records;  // the header is not counted
        const std::string name = joined_ != nullptr ? joined_->location(at.input).shown() : "";
        if (first_.size() < kMostNamed) {
            first_.push_back((name.empty() ? "" : name + ": ") + "record " + std::to_string(reject.record + 1) +
                             ", byte " + std::to_string(reject.offset) + ": " + reject.reason);
        }
        file_.add(reject, options_.has_texts ? &text : nullptr, name);
        ++counts_.rejected;
        counts_.size += reject.size;
    }

    // Throws if too many of the records before `end` are bad, even if each byte of a blob behind them were a good one.
    void judge(Place end, bool at_end) {
        at_end = at_end || (!input_.is_stream() && end.offset == input_.blob().size());
        counts_.accepted = end.record - head_.records - counts_.rejected;
        if (counts_.rejected == 0) return;
        const std::uint64_t all = counts_.accepted + counts_.rejected;
        std::uint64_t most = all;
        if (!at_end) most += input_.is_stream() ? UINT64_MAX / 2 : input_.blob().size() - end.offset;
        const bool is_none_left = at_end && counts_.accepted == 0;
        if (counts_.rejected <= permitted(most) && !is_none_left) return;
        std::string text = std::to_string(counts_.rejected) + " of " + (at_end ? "" : "the first ") +
                           std::to_string(all) + " records are bad, " +
                           (is_none_left ? "so none is left" : "more than --max-rejects permits");
        for (const std::string& reject : first_) text += "; " + reject;
        throw InputError(text);
    }

    // The next bytes of the stream, at most `most`.
    std::span<const std::uint8_t> read_stream(std::size_t most) {
        if (rest_.empty()) rest_ = reader_();
        const auto bytes = rest_.first(std::min(most, rest_.size()));
        rest_ = rest_.subspan(bytes.size());
        return bytes;
    }

    // What is left of the stream: first its head as it is.
    std::span<const std::uint8_t> next() {
        if (head_left_ > 0) {
            const auto bytes = read_stream(static_cast<std::size_t>(head_left_));
            head_left_ -= bytes.size();
            lacks_line_end_ = !bytes.empty() && !is_line_break(bytes.back());
            if (!bytes.empty()) return bytes;
        }
        has_failed_ = true;  // until it is known that the sieve, which knows the place in the input, has not thrown
        if (accepted_.empty()) accepted_ = next_of_input();
        while (accepted_.empty() && begins_next()) accepted_ = next_of_input();
        if (accepted_.empty()) judge(sieve_->at(), true);
        has_failed_ = false;
        return std::exchange(accepted_.empty() || line_end_.empty() ? accepted_ : line_end_, {});
    }

    // What is left of the current one of several inputs.
    std::span<const std::uint8_t> next_of_input() {
        while (sieve_->next()) {
            lacks_line_end_ = !is_past_record(sieve_->state());
            for (const Reject& one : sieve_->rejects()) {
                reject(one, [&](FunctionRef<void(std::span<const std::uint8_t>)> take) {
                    if (one.kind == RejectKind::kSize) return sieve_->large().for_each_part(take);
                    take(sieve_->text(one));
                });
            }
            judge(sieve_->at(), false);
            const auto accepted = sieve_->accepted();
            if (!accepted.empty()) return accepted;
        }
        return {};
    }

    // Goes on with the next of several inputs. A line end that what is left lacks waits until more is left.
    bool begins_next() {
        if (joined_ == nullptr) return false;
        Place at = sieve_->at();
        joined_->go_on(at.record, lacks_line_end_, !line_end_.empty());
        rest_ = reader_();
        if (rest_.empty()) return false;
        if (is_quoted(sieve_->state()) || is_escape(sieve_->state()))
            throw InputError("an input ends inside quotes or with an escape, and would go on in the next one", at);
        if (lacks_line_end_) line_end_ = std::exchange(rest_, {});
        at.offset += lacks_line_end_ ? line_end_.size() : 0;
        begin(at, lacks_line_end_ ? line_end_.back() == '\r' : sieve_->is_behind_cr());
        return true;
    }

    void begin(Place place, bool is_behind_cr) {
        const auto read = [this](std::span<std::uint8_t> into) {
            const auto bytes = read_stream(into.size());
            std::ranges::copy(bytes, into.begin());
            return bytes.size();
        };
        sieve_->begin(place, read, is_behind_cr);
    }

    std::size_t batch_size() const { return std::min(kBlockSize, execution_.block_size); }

    Input& input_;
    JoinedInputs* const joined_;  // null if there is one input
    const RejectOptions options_;
    const Execution execution_;
    const Kernel& kernel_;
    const std::shared_ptr<MemoryManager> memory_;
    const InputHead head_;
    SieveRules rules_;
    RejectFile file_;
    RejectCounts counts_;
    std::vector<std::string> first_;  // rejects, for a message
    const std::shared_ptr<Shifts> shifts_ = std::make_shared<Shifts>();
    // Of a blob:
    Place at_;                          // what is settled ends here
    bool is_behind_cr_ = false;         // what is accepted of that
    std::atomic<unsigned> doubts_ = 0;  // batches that were guessed wrong
    // Of a stream:
    std::uint64_t head_left_ = 0;  // bytes that precede the first record that may be rejected
    bool lacks_line_end_ = false;  // what was passed on last
    FileStream::Reader reader_;
    std::span<const std::uint8_t> rest_;      // read, and not passed on
    std::span<const std::uint8_t> line_end_;  // to be passed on before
    std::span<const std::uint8_t> accepted_;  // what is left next
    std::optional<Sieve> sieve_;
    bool has_failed_ = false;  // an error comes from the sieve
};

// A batch of a blob, for run_in_order().
class Rejects::Slot {
public:
    Slot(Rejects& rejects, GuessedBatches& batches)
        : rejects_(rejects),
          blob_(rejects.input_.blob()),
          batches_(batches),
          begin_(rejects.at_.offset),
          batch_(rejects.memory_),
          walker_(rejects.rules_.dialect, rejects.kernel_),
          sieve_(rejects.rules_, rejects.kernel_, rejects.memory_) {}

    bool pull() { return rejects_.doubts_ < kMostDoubts && batches_.next(batch_); }
    static bool is_large() { return false; }

    void work() {
        found_.clear();
        is_sound_ = false;
        try {
            batches_.find(batch_, walker_);
            sift({batch_.place.offset, 0}, false, batch_.bytes, batch_.place.offset + batch_.bytes.size(),
                 [&] { found_.insert(found_.end(), sieve_.rejects().begin(), sieve_.rejects().end()); });
            is_sound_ = true;
        } catch (const DoubtfulBatch& doubt) {
            std::ignore = doubt;
        } catch (const InputError& error) {  // it is thrown again if the guess is right
            std::ignore = error;
        }
    }

    void emit() {
        const Place at = rejects_.at_;
        // Only these depend on the CR.
        const bool begins_with_seam =
            batch_.bytes.front() == '\n' || (!found_.empty() && found_.front().offset == at.offset);
        if (!is_sound_ || batch_.place.offset != at.offset || (rejects_.is_behind_cr_ && begins_with_seam)) {
            const std::uint64_t end = begin_ + (batch_.number + 1) * rejects_.batch_size();
            if (at.offset < end) ++rejects_.doubts_;
            return sift_to(end);
        }
        for (Reject& reject : found_) {
            reject.record += at.record;
            list(reject);
        }
        advance({sieve_.at().offset, at.record + sieve_.at().record});
    }

    // Sifts in order, as far as the last record that begins before byte `end`.
    void sift_to(std::uint64_t end) {
        sift(rejects_.at_, rejects_.is_behind_cr_, {}, end, [&] {
            for (const Reject& reject : sieve_.rejects()) list(reject);
            advance(sieve_.at());
        });
    }

private:
    template <class Take>
    void sift(Place place, bool is_behind_cr, Octets bytes, std::uint64_t end, const Take& take) {
        constexpr std::uint64_t kMostRead = std::uint64_t{64} << 10;
        const auto read = [this, offset = place.offset + bytes.size()](std::span<std::uint8_t> into) mutable {
            const std::uint64_t size = std::min({std::uint64_t{into.size()}, kMostRead, blob_.size() - offset});
            copy_bytes(blob_, offset, into.first(static_cast<std::size_t>(size)));
            offset += size;
            return static_cast<std::size_t>(size);
        };
        sieve_.begin(place, read, is_behind_cr, bytes, end);
        while (sieve_.next()) take();
    }

    void list(const Reject& reject) {
        rejects_.reject(reject, [&](FunctionRef<void(std::span<const std::uint8_t>)> take) {
            for_each_part(blob_, {reject.offset, reject.size}, rejects_.input_.cancellation(), take);
        });
    }

    void advance(Place place) {
        if (const Cancellation* const c = rejects_.input_.cancellation()) c->throw_if_requested();
        Meter* const meter = rejects_.execution_.meter;
        if (meter != nullptr) meter->scanned += place.offset - rejects_.at_.offset;
        rejects_.judge(place, false);
        rejects_.at_ = place;
        rejects_.is_behind_cr_ = sieve_.is_behind_cr();
    }

    Rejects& rejects_;
    const Blob& blob_;
    GuessedBatches& batches_;
    const std::uint64_t begin_;  // of the batches
    OwnedBatch batch_;
    Walker walker_;
    Sieve sieve_;
    std::vector<Reject> found_;
    bool is_sound_ = false;
};

void Rejects::sift_blob(const Place& begin) {
    at_ = begin;
    const Blob& blob = input_.blob();
    std::uint8_t before = 0;
    if (begin.offset > 0) copy_bytes(blob, begin.offset - 1, {&before, 1});
    is_behind_cr_ = before == '\r';
    const BlobRange range{at_.offset, blob.size() - at_.offset};
    blob.will_read(range);
    GuessedBatches batches(blob, range, rules_.dialect, input_.is_mapped() ? BatchAccess::kMapping : BatchAccess::kFile,
                           {batch_size(), rules_.max_record, nullptr, memory_});
    const unsigned threads = batches.readers(execution_.thread_count());
    const std::size_t count = threads == 1 ? 1 : threads * BatchLoop::kSlotsOfThread;
    std::vector<Slot> slots;
    slots.reserve(count);
    while (slots.size() < count) slots.emplace_back(*this, batches);
    run_in_order(std::span(slots), threads);
    slots.front().sift_to(blob.size());
    input_.throw_if_changed();
    judge(at_, true);
    if (counts_.rejected == 0) return;
    InputParts::replace_blob(input_, [this](std::unique_ptr<FileBlob> whole) {
        return std::make_unique<SiftedBlob>(std::move(whole), shifts_);
    });
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
        rejects->sift_stream(rejects);
    } else if (rejects->may_wait()) {
        InputParts::set_mender(input, [rejects](const Place& begin) { rejects->sift_blob(begin); });
    } else {
        rejects->sift_blob(rejects->body());
    }
    return rejects;
}

}  // namespace cleave
