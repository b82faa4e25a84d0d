#include "features/redact/lane/rewriting.h"

#include <algorithm>
#include <utility>

#include "base/bits.h"
#include "cleave/foreign.h"
#include "core/offsets/stream_cutter.h"
#include "core/scan/check_arguments.h"
#include "features/redact/lane/record_classes.h"
#include "features/redact/stage/program.h"

namespace cleave {
namespace {

InputHead head_of(Input& input, const Dialect& dialect, const Policy& policy, const JobRules& job,
                  const Execution& execution) {
    refuse_foreign(input.peek(kSniffSize));
    if (input.is_snapshot()) {
        Execution quiet = execution;
        quiet.meter = nullptr;
        index_records(input, dialect, quiet);  // drops the incomplete last record
    }
    return read_head(input, dialect, policy.header, job.options.max_record);
}

// Throws InputError with the place in the input.
Stage stage_of(const Input& input, const InputHead& head, const Dialect& dialect, const JobRules& job) {
    refuse_marked_quote(head, dialect);
    try {
        return {job.options, dialect, head.sample, head.has_header, job.keys, input.cancellation()};
    } catch (const InputError& error) {
        if (!error.place()) throw;
        throw InputError(error.what(),
                         Place{head.sample_place.offset + error.place()->offset, head.sample_place.record});
    }
}

Stage complete(Stage stage, Input& input, const InputHead& head, const Execution& execution,
               const Rewriting::Compiled& compiled) {
    if (compiled) compiled(stage, head.records);
    return with_common_classes(std::move(stage), input, head, execution);
}

// The first path of JSON Lines that has to lead somewhere and has met no value.
std::optional<std::size_t> unmet_path(const Stage& stage, const StageCounts& counts) {
    for (std::size_t i = 0; i < counts.met.size(); ++i) {
        if (counts.met[i] == 0 && !stage.program().rules.json->paths[i].is_optional) return i;
    }
    return std::nullopt;
}

// Throws InputError if there is such a path: what it should have changed would be published. Usually the first lines
// settle that; otherwise this reads a blob to its end, and refuses a stream.
void require_values(Input& input, const InputHead& head, const Stage& stage, const Execution& execution) {
    const std::optional<JsonRules>& json = stage.program().rules.json;
    if (!json || std::ranges::all_of(json->paths, &JsonRules::Path::is_optional)) return;
    const std::span<const std::uint8_t> sniffed = input.peek(kSniffSize);
    const bool is_all = sniffed.size() < kSniffSize;
    StageWorker worker(stage, checked_kernel(execution), execution.memory);
    worker.write(worker.read_sound(sniffed.subspan(std::min<std::size_t>(head.size, sniffed.size())),
                                   {head.size, head.records}, is_all));
    // A long first line, or one behind many blank ones.
    if (worker.counts().records == worker.counts().empty_records && !head.sample.empty()) {
        worker.write(worker.read_sound(head.sample, head.sample_place, true));
    }
    StageCounts counts = worker.counts();
    if (!unmet_path(stage, counts)) return;
    if (!is_all && !input.is_stream()) {
        Execution quiet = execution;
        quiet.meter = nullptr;
        quiet.offload = nullptr;
        RecordLane ahead(input, head, stage, quiet);
        ahead.write_all([](auto, auto) {});
        counts = ahead.counts();
    }
    const std::optional<std::size_t> path = unmet_path(stage, counts);
    const bool is_whole = is_all || !input.is_stream();
    if (!path || (is_whole && counts.records == counts.empty_records)) return;
    const std::string& name = stage.program().rules.names[*path];
    throw InputError((is_whole ? "no line" : "none of the first lines of this stream") +
                     std::string(" has a value at ") + name + ", which " + json->paths[*path].source.origin +
                     " names; if none has to, write " + name + "?");
}

// The number of the column in what is written; a path of JSON Lines needs none. Throws RuleError with `text` if the
// column is left out.
std::size_t place_in_output(const KeyColumn& column, const Stage& stage, const RuleText& text) {
    if (column.path) {
        const RuleText path{column.name, text.origin};
        RuleScanner scanner(path);
        if (!stage.program().paths->leaves_out(parse_json_path(scanner, JsonPathSyntax::kOneValue))) return 0;
        throw RuleError("the value at " + column.name + " is left out of the pieces", text.origin, text.text, 0);
    }
    const std::vector<std::size_t>& written = stage.program().rules.selected;
    const auto found = std::ranges::find(written, column.number);
    if (found != written.end()) return static_cast<std::size_t>(found - written.begin());
    throw RuleError("the column " + column.name + " is left out of the pieces", text.origin, text.text, 0);
}

// The column of Policy::together, as a column of what is written.
std::optional<KeyField> key_of(const Policy& policy, const InputHead& head, const Stage& stage) {
    if (!policy.together) return std::nullopt;
    KeyColumn column = find_key_column(*policy.together, input_columns(head.sample, stage.dialect(), head.has_header));
    column.number = place_in_output(column, stage, policy.together->column);
    return KeyField(stage.dialect(), std::move(column), policy.together->accepts_missing);
}

// Feeds changed records to a cutter as if they were the input.
class CutterFeed {
public:
    explicit CutterFeed(StreamCutter& cutter) : cutter_(cutter) {}

    void feed(std::span<const std::uint8_t> bytes, std::span<const std::uint64_t> starts) {
        if (bytes.empty()) return;
        marks_.assign((bytes.size() + kWordBits - 1) / kWordBits, 0);
        for (const std::uint64_t start : starts) marks_[start / kWordBits] |= std::uint64_t{1} << (start % kWordBits);
        cutter_.feed(bytes, marks_);
        size_ += bytes.size();
    }
    std::uint64_t size() const { return size_; }

private:
    StreamCutter& cutter_;
    std::vector<std::uint64_t> marks_;
    std::uint64_t size_ = 0;
};

}  // namespace

Rewriting::Rewriting(Input& input, const Dialect& dialect, const Policy& policy, const JobRules& job,
                     const Execution& execution, const Compiled& compiled)
    : policy_(policy),
      even_(policy),
      execution_(execution),
      head_(head_of(input, dialect, policy, job, execution)),
      stage_(complete(stage_of(input, head_, dialect, job), input, head_, execution, compiled)),
      key_(key_of(policy, head_, stage_)),
      lane_(input, head_, stage_, execution) {
    even_.together.reset();
    require_values(input, head_, stage_, execution);
}

Findings Rewriting::cut_in_order(PieceSink& sink) {
    StreamCutter cutter(policy_, sink, 0);
    CutterFeed feed(cutter);
    const std::span<const std::uint8_t> header = lane_.header();
    constexpr std::uint64_t kAtFront[] = {0};
    // The header and the empty records before it count as one record.
    cutter.set_header_records(header_size() > 0 ? 1 : 0);
    if (header_size() > 0) feed.feed(header, kAtFront);
    // Without a header, a byte order mark belongs to the first record.
    std::vector<std::uint8_t> mark;
    if (!head_.has_header) mark.assign(header.begin(), header.end());
    lane_.write_all([&](std::span<const std::uint8_t> bytes, std::span<const std::uint64_t> starts) {
        if (mark.empty()) return feed.feed(bytes, starts);
        std::vector<std::uint64_t> moved(starts.begin(), starts.end());
        for (std::uint64_t& start : moved) start += start == 0 ? 0 : mark.size();
        mark.insert(mark.end(), bytes.begin(), bytes.end());
        feed.feed(mark, moved);
        mark.clear();
    });
    if (!mark.empty()) feed.feed(mark, kAtFront);  // no record follows it
    Findings findings;
    findings.size = feed.size();
    findings.header_records = head_.records;
    findings.preamble_records = preamble_records();
    findings.records = head_.records + lane_.counts().records;
    cutter.finish(findings);
    return findings;
}

std::vector<KeyColumn> Rewriting::key_columns() const {
    std::vector<KeyColumn> columns = find_columns(policy_.by.value());
    for (KeyColumn& column : columns) column.number = place_in_output(column, stage_, policy_.by->columns);
    return columns;
}

std::vector<std::size_t> Rewriting::places_in_input(std::span<const KeyColumn> columns) const {
    std::vector<std::size_t> places;
    for (const KeyColumn& column : columns) places.push_back(stage_.program().rules.selected[column.number]);
    return places;
}

std::vector<KeyColumn> Rewriting::find_columns(const ByValue& by) const {
    return find_key_columns(by, input_columns(head_.sample, stage_.dialect(), head_.has_header));
}

std::vector<std::uint8_t> Rewriting::guiding_record() const {
    if (head_.has_header || head_.sample.empty()) return {header_record().begin(), header_record().end()};
    StageWorker worker(stage_, checked_kernel(execution_));
    worker.write(worker.read(head_.sample, head_.sample_place, true));
    return {worker.written().begin(), worker.written().end()};
}

Findings Rewriting::write_records(const RecordLane::MakeFollower& make, const Stage* keyed) {
    lane_.write_all(make, keyed);
    Findings findings;
    findings.header_records = head_.records;
    findings.preamble_records = preamble_records();
    findings.records = head_.records + lane_.counts().records;
    return findings;
}

Findings Rewriting::plan(bool is_measured, std::vector<RewrittenPiece>& pieces) {
    Findings findings;
    std::vector<Piece> cuts;
    if (policy_.pieces || (!policy_.max_bytes && !policy_.together)) {
        const RecordIndex& index = lane_.index();
        plan_pieces(index, even_, [&](const Piece& cut) {
            cuts.push_back(cut);
            Piece written = cut;
            written.start = written.length = 0;
            pieces.push_back({{cut.start, cut.length}, cut.first_record - 1 + head_.records, written});
        });
        findings.records = index.findings().records;
    }
    if (is_measured) {
        pieces = lane_.measure(policy_, cuts, key_ ? &*key_ : nullptr);
        findings.records = lane_.records();
    }
    findings.header_records = head_.records;
    findings.preamble_records = preamble_records();
    return findings;
}

std::uint64_t Rewriting::write_piece(const RewrittenPiece& piece, unsigned threads, const Write& write) {
    if (header_size_in(policy_.header, piece.written.number, header_size()) > 0) write_header(write);
    return write_run(piece.range, piece.record, threads, write);
}

// Without a header, writes the byte order mark if the run begins with it. Returns the run without the mark.
BlobRange Rewriting::write_mark(BlobRange run, const Write& write) {
    const std::uint64_t mark = head_.has_header ? 0 : head_.bytes.size();
    if (run.offset >= mark || run.size == 0) return run;
    write(lane_.header());
    const std::uint64_t size = std::min(mark, run.size);
    return {run.offset + size, run.size - size};
}

std::uint64_t Rewriting::write_run(BlobRange run, std::uint64_t record, unsigned threads, const Write& write) {
    std::uint64_t length = 0;
    const auto count = [&](std::span<const std::uint8_t> bytes) {
        write(bytes);
        length += bytes.size();
    };
    lane_.write_range(write_mark(run, count), record, threads,
                      [&](std::span<const std::uint8_t> bytes, auto) { count(bytes); });
    return length;
}

void Rewriting::write_record(BlobRange range, std::uint64_t record, const Write& write) {
    const BlobRange rest = write_mark(range, write);
    if (rest.size == 0) return;  // the mark was all there was
    lane_.write_record(rest, record, [&](std::span<const std::uint8_t> bytes, auto) { write(bytes); });
}

// Returns piece `number` under a policy with a number of pieces and Policy::together. Measures all records, but as at
// most three pieces: the requested one, everything before it and everything after it.
RewrittenPiece Rewriting::piece_together(std::uint64_t number) {
    const RecordIndex& index = lane_.index();
    const Piece even = plan_piece(index, even_, number);
    std::vector<Piece> cuts;
    if (number > 1) cuts.push_back(plan_piece(index, even_, 1));
    const std::size_t wanted = cuts.size();
    cuts.push_back(even);
    if (number < *policy_.pieces) cuts.push_back(plan_piece(index, even_, number + 1));
    RewrittenPiece piece = lane_.measure(policy_, cuts, &*key_)[wanted];
    piece.written.number = number;
    return piece;
}

void Rewriting::write_all(const Write& write) {
    if (policy_.header != HeaderMode::kDrop) write_header(write);
    lane_.write_all([&](std::span<const std::uint8_t> bytes, auto) { write(bytes); });
}

void Rewriting::write_one(std::uint64_t number, const Write& write) {
    if (key_) {
        write_piece(piece_together(number), execution_.thread_count(), write);
        return;
    }
    const RecordIndex& index = lane_.index();
    const Piece cut = plan_piece(index, policy_, number);
    write_piece({{cut.start, cut.length}, cut.first_record - 1 + head_.records, cut}, execution_.thread_count(), write);
}

}  // namespace cleave
