// Pieces by value whose records are changed on their way into a temporary file: by rules, or by leaving columns out.
#include "engine/records_by_value.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "cleave/error.h"
#include "cleave/memory.h"
#include "cleave/stage.h"
#include "core/scan/check_arguments.h"
#include "features/redact/lane/rewriting.h"
#include "features/redact/stage/program.h"
#include "rows/values/index_columns.h"

namespace cleave {
namespace {

// A share of the records smaller than this is not worth a thread.
constexpr std::uint64_t kLeastShare = std::uint64_t{16} << 20;

// Changes records by a stage.
class StageRewriter final : public RecordRewriter {
public:
    // As for StageWorker.
    StageRewriter(const Stage& stage, const Kernel& kernel, std::shared_ptr<MemoryManager> memory)
        : worker_(stage, kernel, std::move(memory)) {}

    RecordBlock read(std::span<const std::uint8_t> bytes, Place place, bool at_end) override {
        return worker_.read(bytes, place, at_end);
    }
    RecordBlock read_sound(std::span<const std::uint8_t> bytes, Place place, bool at_end) override {
        return worker_.read_sound(bytes, place, at_end);
    }
    void append(std::span<const std::uint8_t> bytes) override { worker_.append(bytes); }
    void write(const RecordBlock& block) override { worker_.write(block); }
    std::span<const std::uint8_t> written() const override { return worker_.written(); }
    std::span<const std::uint64_t> starts() const override { return worker_.starts(); }
    void clear() override { worker_.clear(); }

private:
    StageWorker worker_;
};

// A stage that leaves the columns out. `first` is the record that defines the columns.
Stage stage_without(const std::vector<KeyColumn>& columns, const ByValue& by, const Dialect& dialect,
                    std::span<const std::uint8_t> first, bool has_header) {
    StageOptions options;
    RuleText& select = options.select.emplace();
    select.origin = by.columns.origin;
    for (const KeyColumn& column : columns) {
        select.text += (select.text.empty() ? "!#" : ",!#") + std::to_string(column.number + 1);
    }
    options.max_record = kMaxRecordLimit;
    // The columns have already been found, and they are dropped according to the dialect, so nothing here is a guess.
    options.is_delimiter_given = options.is_header_given = options.is_escape_given = true;
    try {
        return {options, dialect, first, has_header};
    } catch (const RuleError&) {
        throw RuleError("a record has no other column; use --keep-by with --hive, or leave out --drop-by",
                        by.columns.origin, by.columns.text, 0);
    }
}

// Collects the records of an input for pieces by value: reads their keys, and writes them to a file after the rules
// have been applied and without dropped columns.
class Collector {
public:
    // `dropping` is null if all columns stay. The arguments must outlive this object. `mark` is written with the first
    // record.
    Collector(const JobContext& context, std::span<const KeyColumn> columns, const Stage* dropping,
              std::span<const std::uint8_t> mark, std::uint64_t origin, TemporaryBlob& file)
        : context_(context),
          columns_(columns),
          dropping_(dropping),
          mark_(mark.begin(), mark.end()),
          file_(file),
          memory_(MemoryManager::or_default(context.job.execution.memory)),
          seed_(PlanByValue::seed_for(by())),
          shares_(by(), PlanByValue::joins(context.policy), origin, memory_) {}

    RecordLane::MakeFollower followers() {
        return [this] { return std::make_unique<Follower>(*this); };
    }

    // Call this when all records have been passed on.
    PlanByValue::Written finish(std::uint64_t header_size) {
        if (!mark_.empty()) {  // no record follows the mark
            const RecordKey key{{}, hash_of_key({}, seed_)};
            const std::uint64_t start = 0;
            take({}, {&start, 1}, {&key, 1});
        }
        return {std::move(shares_), header_size, seed_, context_.job.execution.thread_count()};
    }

    std::uint64_t size() const { return size_; }

private:
    // Reads keys, and drops columns. Parses the records a second time if they have no keys yet.
    class Follower final : public RecordLane::Follower {
    public:
        explicit Follower(Collector& collector)
            : collector_(collector),
              keys_(collector.context_.dialect, collector.columns_, collector.by().accepts_missing, collector.seed_,
                    collector.memory_) {}

        void work(const RecordLane::Written& records) override {
            if (records.keys != nullptr) return read_kept(*records.keys);
            if (!worker_ && !fields_) prepare();
            const RecordBlock block = worker_ ? worker_->read(records.bytes, {}, true) :  //
                                          fields_->read(records.bytes, {}, true);
            if (block.record_count() != records.starts.size()) {
                throw LogicError("stage: what was written has other records");
            }
            keys_.read(block);
            if (!worker_) return;
            worker_->clear();
            worker_->write(block);
        }

        void emit(const RecordLane::Written& records) override {
            if (records.keys == nullptr && worker_) {
                collector_.take(worker_->written(), worker_->starts(), keys_.keys());
            } else {
                collector_.take(records.bytes, records.starts, keys_.keys());
            }
        }

    private:
        // The keys are fields that the worker has kept.
        void read_kept(const StageWorker& worker) {
            keys_.read(worker.starts().size(), KeptFields::size(worker), [&](std::size_t r, std::size_t i) {
                const auto field = KeptFields::field(worker, r, i);
                return Value{field.data(), field.size()};
            });
        }

        void prepare() {
            const Kernel& kernel = checked_kernel(collector_.context_.job.execution);
            if (collector_.dropping_ != nullptr) {
                worker_.emplace(*collector_.dropping_, kernel, collector_.memory_);
            } else {
                fields_.emplace(collector_.context_.dialect, kernel, Reading::kByDialect, 0, collector_.memory_);
            }
        }

        Collector& collector_;
        KeyReader keys_;
        std::optional<FieldReader> fields_;
        std::optional<StageWorker> worker_;
    };

    const ByValue& by() const { return *context_.policy.by; }

    void take(std::span<const std::uint8_t> bytes, std::span<const std::uint64_t> starts,
              std::span<const RecordKey> keys) {
        const Cancellation* const cancellation = context_.input.cancellation();
        size_ += bytes.size();
        if (mark_.empty()) {
            shares_.take(keys, starts, bytes.size());
            file_.append(bytes, cancellation);
        } else {
            std::vector<std::uint64_t> moved(starts.begin(), starts.end());
            for (std::uint64_t& start : moved) start += start == 0 ? 0 : mark_.size();
            mark_.insert(mark_.end(), bytes.begin(), bytes.end());
            shares_.take(keys, moved, mark_.size());
            file_.append(mark_, cancellation);
            mark_.clear();
        }
        if (shares_.size_of_share() >= share_size()) shares_.part();
    }

    // The aim is about as many shares as threads. For a stream, a share is as large as everything before it divided by
    // the number of threads.
    std::uint64_t share_size() const {
        const std::uint64_t size = context_.input.is_stream() ? size_ : context_.input.blob().size();
        return std::max(kLeastShare, size / context_.job.execution.thread_count());
    }

    const JobContext& context_;
    const std::span<const KeyColumn> columns_;
    const Stage* const dropping_;
    std::vector<std::uint8_t> mark_;  // empty once taken
    TemporaryBlob& file_;
    const std::shared_ptr<MemoryManager> memory_;
    const std::uint64_t seed_;
    KeyShares shares_;
    std::uint64_t size_ = 0;  // of the records in the file, without the mark
};

}  // namespace

// Plans in one pass over the input.
void RecordsByValue::plan_staged() {
    Rewriting& rewriting = *context_.rewriting;
    const ByValue& by = *context_.policy.by;
    const std::vector<KeyColumn> columns = rewriting.key_columns();
    const bool has_header = rewriting.header_size() > 0;
    std::vector<std::uint8_t> header;
    if (has_header) header.assign(rewriting.prefix().begin(), rewriting.prefix().end());
    Dialect written = context_.dialect;
    written.preamble = 0;  // the preamble is not written
    std::optional<Stage> dropping;
    if (by.drops_columns && !columns.empty()) {
        const std::vector<std::uint8_t> first = rewriting.guiding_record();
        dropping.emplace(stage_without(columns, by, written, first, has_header));
    }
    if (dropping && !rewriting.header_record().empty()) {
        StageWorker worker(*dropping, checked_kernel(context_.job.execution));
        worker.write_unchanged(worker.read(rewriting.header_record(), {}, true));
        header.insert(header.end(), worker.written().begin(), worker.written().end());
    } else {
        header.insert(header.end(), rewriting.header_record().begin(), rewriting.header_record().end());
    }
    TemporaryBlob& file = rewritten_.emplace();
    file.append(header, context_.input.cancellation());
    const auto mark = has_header ? std::span<const std::uint8_t>() : rewriting.prefix();
    Collector collector(context_, columns, dropping ? &*dropping : nullptr, mark, header.size(), file);
    // In JSON Lines, keys are read from what is written.
    const bool are_paths = !columns.empty() && columns.front().path != nullptr;
    std::optional<Stage> keyed;
    if (!are_paths) keyed = with_keys(rewriting.stage(), rewriting.places_in_input(columns), by.drops_columns);
    Findings findings = rewriting.write_records(collector.followers(), keyed ? &*keyed : nullptr);
    findings.size = header.size() + mark.size() + collector.size();
    PlanByValue::Written shares = collector.finish(header.size());
    file.finish();
    context_.reports.found(findings);
    plan_.emplace(context_.policy, columns, std::move(shares));
}

void RecordsByValue::plan_shortened(const RecordIndex& index, const std::vector<KeyColumn>& columns) {
    const Policy& policy = context_.policy;
    const bool has_header = policy.header != HeaderMode::kNone;
    Locator locator(index);
    const FirstRecord first = first_record_of(index, locator).value_or(FirstRecord{});
    const Stage stage = stage_without(columns, *policy.by, index.dialect(), first.bytes, has_header);
    TemporaryBlob& written = rewritten_.emplace();
    std::uint64_t header_size = 0;
    if (has_header) {
        StageWorker worker(stage, index.kernel());
        std::vector<std::uint8_t> buffer;
        worker.append(index.blob().lend(0, static_cast<std::size_t>(first.place.offset), buffer));
        if (!first.bytes.empty()) worker.write_unchanged(worker.read(first.bytes, first.place, true));
        header_size = worker.written().size();
        written.write_at(0, worker.written());
    } else if (const Lead lead = index.lead(); lead.is_preamble) {
        header_size = lead.size;
        std::vector<std::uint8_t> buffer;
        written.write_at(0, index.blob().lend(0, static_cast<std::size_t>(lead.size), buffer));
    }
    const auto memory = MemoryManager::or_default(index.memory());
    const auto make = [&] { return std::make_unique<StageRewriter>(stage, index.kernel(), memory); };
    const PlanByValue::Rewriting rewriting{make, written, header_size};
    plan_.emplace(index, policy, columns, &rewriting);
    written.finish();
}

}  // namespace cleave
