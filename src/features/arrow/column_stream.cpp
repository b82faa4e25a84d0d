// The pipeline behind cleave/experimental/column_stream.h. A page is a batch of records (see records/batch_loop.h):
//
//   work   apply the rules to the records, find their fields, lay out the columns
//   emit   put the array into a queue, from which next() takes it
//
// All this runs on a separate thread, not on the caller's, starting with the first call to next(). When the queue is
// full, emit() waits, and soon no slot is free, so memory is bounded by the slots and the queue. The destructor wakes a
// waiting emit(); that call or the next one ends the sequence.
#include "cleave/experimental/column_stream.h"

#include <unistd.h>

#include <algorithm>
#include <deque>
#include <exception>
#include <thread>
#include <tuple>
#include <utility>

#include "base/mutex.h"
#include "base/too_long.h"
#include "base/utf8.h"
#include "cleave/error.h"
#include "cleave/foreign.h"
#include "cleave/kernel.h"
#include "core/dialect/check_arguments.h"
#include "core/offsets/input_head.h"
#include "core/reader/input_parts.h"
#include "core/scan/check_arguments.h"
#include "features/arrow/column_pool.h"
#include "features/redact/stage/program.h"
#include "features/redact/stage/record_blocks.h"
#include "rows/records/batch_check.h"
#include "rows/records/batch_loop.h"

namespace cleave {
namespace {

// How many arrays per thread may wait in the queue.
constexpr std::size_t kWaitingOfThread = 2;

// The memory of released columns is kept for the next pages: for each page in the pipeline, this many times the size of
// a page. With two-byte records, the offsets alone take twice as many bytes as the page.
constexpr std::size_t kKeptOfPage = 2;

// An array that the destructor releases.
class OwnedArray {
public:
    OwnedArray() = default;
    OwnedArray(OwnedArray&& other) noexcept : array_(std::exchange(other.array_, {})) {}
    OwnedArray& operator=(OwnedArray&& other) noexcept {
        std::swap(array_, other.array_);
        return *this;
    }
    ~OwnedArray() {
        if (array_.release != nullptr) array_.release(&array_);
    }

    ArrowArray* get() { return &array_; }
    ArrowArray take() { return std::exchange(array_, {}); }

private:
    ArrowArray array_{};
};

// Claims a stream for one reader, because two readers would each get only part of its bytes.
class StreamClaim {
public:
    explicit StreamClaim(Input& input) : input_(input) {
        if (!input.claim()) throw ArgumentError("columns: another stream of columns is reading this input");
    }
    StreamClaim(const StreamClaim&) = delete;
    StreamClaim& operator=(const StreamClaim&) = delete;
    ~StreamClaim() { input_.release_claim(); }

private:
    Input& input_;
};

// The name, with U+FFFD in place of each byte that is NUL or not UTF-8.
std::string as_text(const std::string& name) {
    std::string text;
    const auto* at = reinterpret_cast<const std::uint8_t*>(name.data());
    const std::uint8_t* const end = at + name.size();
    while (at != end) {
        const std::uint64_t size = utf8_size(at, end);
        if (size == 0 || *at == 0) {
            text += "\xEF\xBF\xBD";
            ++at;
        } else {
            text.append(reinterpret_cast<const char*>(at), size);
            at += size;
        }
    }
    return text;
}

std::string name_of(std::size_t number, const std::vector<std::string>& values, bool has_header) {
    return has_header ? as_text(values[number]) : "column_" + std::to_string(number + 1);
}

// The head of the input, which gives the names and the number of columns.
InputHead head_of(Input& input, const Dialect& dialect, bool has_header, std::uint64_t max_record) {
    refuse_foreign(input.peek(kSniffSize));
    return read_head(input, dialect, has_header ? HeaderMode::kDrop : HeaderMode::kNone, max_record);
}

std::vector<std::string> values_of(const InputHead& head, const Dialect& dialect) {
    return head.sample.empty() ? std::vector<std::string>() : field_values(head.sample, dialect);
}

// "#1,#3", in the form that StageOptions::select takes.
std::string list_of(const std::vector<std::size_t>& columns) {
    std::string list;
    for (const std::size_t number : columns) list += (list.empty() ? "#" : ",#") + std::to_string(number + 1);
    return list;
}

std::vector<std::size_t> wanted_columns(const ColumnStreamOptions& options, std::size_t fields) {
    std::vector<std::size_t> columns;
    if (options.columns) {
        columns = *options.columns;
    } else {
        for (std::size_t i = 0; i < fields; ++i) columns.push_back(i);
    }
    std::vector<bool> is_taken(fields);
    for (const std::size_t number : columns) {
        if (number >= fields) throw ArgumentError("columns: no column has that number");
        if (is_taken[number]) throw ArgumentError("columns: a column was asked for twice");
        is_taken[number] = true;
    }
    return columns;
}

std::shared_ptr<Input> not_null(std::shared_ptr<Input> input) {
    if (!input) throw ArgumentError("columns: no input");
    return input;
}

// Throws ArgumentError if the options are invalid or do not fit the input, and RuleError for a rule that needs a second
// pass.
void check_options(const ColumnStreamOptions& options, const Input& input) {
    if (options.page_size == 0 || options.page_size > kMaxBlockSize) {
        throw ArgumentError("columns: a page of this size is not possible");
    }
    if (options.rules.select) throw ArgumentError("columns: `select` beside `columns`");
    if (options.range && input.is_stream()) throw ArgumentError("columns: a stream has no ranges");
    for (const RuleText& rule : options.rules.rules) {
        if (!has_suppress(std::span(&rule, 1))) continue;
        throw RuleError(
            "suppress reads the input twice, but columns are read once; write the changed file first, with cleave cat",
            rule.origin, rule.text, 0);
    }
}

}  // namespace

struct ColumnStream::State {
    State(std::shared_ptr<Input> whole, const Dialect& of_input, ColumnStreamOptions chosen, const Execution& by);
    ~State();
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    void take_rules(const InputHead& head, const std::vector<std::size_t>& wanted);
    void read();
    void run();
    void put(OwnedArray array);
    bool take(ArrowArray* array);
    bool is_begun_elsewhere() const { return process != 0 && process != ::getpid(); }

    class Page;

    std::shared_ptr<Input> input;
    Dialect dialect;
    ColumnStreamOptions options;
    const Kernel& kernel;
    std::size_t threads;
    std::shared_ptr<MemoryManager> memory;
    std::size_t fields = 0;            // how many fields the records of the input have
    std::size_t rewritten_fields = 0;  // how many fields the records have after the rules; 0 if none is laid out
    std::optional<Stage> stage;        // set only if there are rules
    std::vector<ArrowColumn> columns;  // the columns to lay out
    std::vector<std::string> names;
    std::uint64_t header_records = 0;
    std::optional<ColumnReader> reader;
    std::shared_ptr<ColumnPool> pool;       // for released columns
    Place begin;                            // where the first record begins
    std::uint64_t size = 0;                 // for a blob: the size of the records, in bytes
    std::vector<std::uint8_t> read_before;  // only with rules; see BatchTrail
    std::optional<BatchCheck> check;        // only with rules
    std::optional<StreamClaim> claim;       // only for a stream
    // These interrupt the waits of a stream. The second one must be destroyed first, even if the constructor throws.
    std::optional<Cancellation> cancellation;
    std::optional<InputCancellation> input_cancellation;

    Mutex mutex;
    ConditionVariable changed;
    std::deque<OwnedArray> waiting CLEAVE_GUARDED_BY(mutex);
    bool is_stopped CLEAVE_GUARDED_BY(mutex) = false;     // set by the destructor
    bool is_done CLEAVE_GUARDED_BY(mutex) = false;        // no more arrays will be put into the queue
    std::exception_ptr failure CLEAVE_GUARDED_BY(mutex);  // reported after the waiting arrays
    ::pid_t process = 0;                                  // the process that started the stream; 0: none yet
    std::jthread worker;  // runs from the first take() on; comes last, because it uses the other members
};

ColumnStream::State::State(std::shared_ptr<Input> whole, const Dialect& of_input, ColumnStreamOptions chosen,
                           const Execution& by)
    : input(not_null(std::move(whole))),
      dialect(checked(of_input)),
      options(std::move(chosen)),
      kernel(checked_kernel(by)),
      threads(by.thread_count()),
      memory(MemoryManager::or_default(by.memory)) {
    check_options(options, *input);
    if (dialect.header == HeaderRecord::kNone) options.has_header = false;
    if (!options.layout.memory) options.layout.memory = memory;
    if (input->is_stream()) {
        claim.emplace(*input);
        cancellation.emplace();
        input_cancellation.emplace(*input, &*cancellation);
        input->set_threads(by.thread_count());
    }
    const InputHead head = head_of(*input, dialect, options.has_header, options.rules.max_record);
    header_records = head.records;
    const std::vector<std::string> values = values_of(head, dialect);
    fields = rewritten_fields = values.size();
    const std::vector<std::size_t> wanted = wanted_columns(options, fields);
    for (const std::size_t number : wanted) names.push_back(name_of(number, values, options.has_header));
    const bool has_rules = !options.rules.is_empty();
    if (has_rules && fields > 0) take_rules(head, wanted);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        columns.push_back({has_rules ? i : wanted[i], names[i], options.is_text});
    }
    const bool may_differ = options.layout.missing_is_null && !stage;
    reader.emplace(dialect, may_differ ? 0 : rewritten_fields, options.layout);
    const std::size_t pages = threads * (BatchLoop::kSlotsOfThread + kWaitingOfThread) + 1;  // the consumer has one
    pool = std::make_shared<ColumnPool>(columns.size(), pages * kKeptOfPage * options.page_size);

    begin = {head.size, head.records};
    if (input->is_stream()) return;
    const std::uint64_t end = input->blob().size();
    size = end - begin.offset;
    if (options.range) {
        const RecordRange& part = *options.range;
        if (part.begin.offset < begin.offset || part.begin.offset > end || part.size > end - part.begin.offset) {
            throw ArgumentError("columns: the range is not within the input, or not after its header");
        }
        begin = part.begin;
        size = part.size;
    }
    if (!has_rules) return;
    const auto before = head.before(begin.offset);
    read_before.assign(before.begin(), before.end());
}

// Prepares the rules. Throws what Stage throws.
void ColumnStream::State::take_rules(const InputHead& head, const std::vector<std::size_t>& wanted) {
    refuse_marked_quote(head, dialect);
    StageOptions& rules = options.rules;
    if (!rules.is_delimiter_given || !rules.is_header_given) {
        // `select` will contain column numbers. Whether the rules may contain column numbers is checked without it.
        StageOptions judged;
        judged.rules = rules.rules;
        judged.is_delimiter_given = rules.is_delimiter_given;
        judged.is_header_given = rules.is_header_given;
        judged.is_escape_given = rules.is_escape_given;
        std::ignore = Stage(judged, dialect, head.sample, options.has_header, options.keys.get());
    }
    rules.is_delimiter_given = rules.is_header_given = true;
    if (!wanted.empty()) rules.select = RuleText{list_of(wanted), "columns"};
    stage.emplace(rules, dialect, head.sample, options.has_header, options.keys.get());
    rewritten_fields = wanted.size();
    check.emplace(*input, BatchCheck::Reads::kFile);
}

ColumnStream::State::~State() {
    {
        const MutexLock lock(mutex);
        is_stopped = true;
    }
    changed.notify_all();
    if (cancellation) cancellation->request();
    if (worker.joinable()) worker.join();
}

// A page of the stream: the columns of a batch, after any rules have been applied.
class ColumnStream::State::Page {
public:
    explicit Page(State& state)
        : state_(state),
          fields_(state.dialect, state.kernel, Reading::kByDialect,
                  state.options.layout.missing_is_null && !state.stage ? 0 : state.rewritten_fields, state.memory) {
        if (state.stage) worker_.emplace(*state.stage, state.kernel, state.memory).pick_ends();
    }

    void work(const Batch& batch);
    std::uint64_t emit(Place);

private:
    void change(const Batch& batch);
    void lay_out(std::span<const std::uint8_t> bytes, const Batch& batch);

    State& state_;
    FieldReader fields_;
    std::optional<StageWorker> worker_;  // only with rules
    OwnedArray array_;
};

void ColumnStream::State::Page::work(const Batch& batch) {
    if (!worker_) {
        if (batch.is_cut) throw_too_long(kMaxRecordLimit, batch.place);
        return lay_out(batch.bytes, batch);
    }
    change(batch);
    try {
        lay_out(worker_->written(), batch);
    } catch (const InputError& error) {  // its offset refers to the changed bytes
        if (!error.place()) throw;
        const std::uint64_t number = error.place()->record - batch.place.record;
        throw InputError(error.what(), place_of_record(*worker_, batch, state_.stage->max_record(), number));
    }
}

std::uint64_t ColumnStream::State::Page::emit(Place) {
    const auto records = static_cast<std::uint64_t>(array_.get()->length);
    state_.put(std::move(array_));
    return records;
}

void ColumnStream::State::Page::change(const Batch& batch) {
    worker_->clear();
    for_each_block(*worker_, batch, state_.stage->max_record(),
                   [&](const RecordBlock& block) { worker_->write(block); });
}

// Lays out `bytes`: the batch itself, or the result of applying the rules to it.
void ColumnStream::State::Page::lay_out(std::span<const std::uint8_t> bytes, const Batch& batch) {
    const RecordBlock block = fields_.read(bytes, batch.place, batch.is_exact || worker_);
    if (block.bytes.size() != bytes.size()) throw DoubtfulBatch();
    array_ = {};  // an array is left over if a guessed batch was discarded
    ArrowSchema schema{};
    export_columns(block, *state_.reader, state_.columns, state_.pool, &schema, array_.get());
    schema.release(&schema);
}

// Reads all records to the end.
void ColumnStream::State::read() {
    const std::uint64_t longest = stage ? stage->max_record() : kMaxRecordLimit;
    const BatchOptions batches{options.page_size, longest, nullptr, memory};
    std::optional<BatchLoop> loop;
    if (input->is_stream()) {
        loop.emplace(*input, begin, dialect, kernel, batches);
    } else {
        loop.emplace(input->blob(), BlobRange{begin.offset, size}, begin.record, dialect, kernel, BatchAccess::kFile,
                     batches, check ? &*check : nullptr, read_before);
    }
    if (fields > 0) loop->run(static_cast<unsigned>(threads), [this] { return Page(*this); });
    loop->finish();
    input->throw_if_changed();
    const std::optional<Place> open = loop->open_quote();
    if (open && !options.allow_open_quote) throw OpenQuoteError(*open);
}

void ColumnStream::State::run() {
    std::exception_ptr thrown;
    try {
        read();
    } catch (...) {
        try {
            input->rethrow();
        } catch (...) {  // rethrown by next()
            thrown = std::current_exception();
        }
    }
    pool->close();  // no more batches will be created
    {
        const MutexLock lock(mutex);
        failure = std::move(thrown);  // so that only next() destroys the exception
        is_done = true;
    }
    changed.notify_all();
}

// Puts the array into the queue; waits until there is room.
void ColumnStream::State::put(OwnedArray array) {
    {
        MutexLock lock(mutex);
        while (!is_stopped && waiting.size() >= threads * kWaitingOfThread) changed.wait(lock);
        if (is_stopped) throw Cancelled();
        waiting.push_back(std::move(array));
    }
    changed.notify_all();
}

bool ColumnStream::State::take(ArrowArray* array) {
    if (is_begun_elsewhere()) {
        throw LogicError("columns: the stream was opened before a fork; open it again in this process");
    }
    if (process == 0) worker = std::jthread([this] { run(); });
    process = ::getpid();
    MutexLock lock(mutex);
    while (!is_done && waiting.empty()) changed.wait(lock);
    if (!waiting.empty()) {
        *array = waiting.front().take();
        waiting.pop_front();
        lock.unlock();
        changed.notify_all();
        return true;
    }
    if (failure) std::rethrow_exception(std::exchange(failure, nullptr));
    return false;
}

ColumnStream::ColumnStream(std::shared_ptr<Input> input, const Dialect& dialect, const ColumnStreamOptions& options,
                           const Execution& execution)
    : state_(std::make_unique<State>(std::move(input), dialect, options, execution).release()) {}
ColumnStream::ColumnStream(ColumnStream&&) noexcept = default;
ColumnStream& ColumnStream::operator=(ColumnStream&&) noexcept = default;
ColumnStream::~ColumnStream() = default;

// In a forked process, the threads that the destructor would join do not exist, and neither do those that may hold its
// locks.
void ColumnStream::Release::operator()(State* state) const noexcept {
    if (!state->is_begun_elsewhere()) std::default_delete<State>()(state);
}

const std::vector<std::string>& ColumnStream::names() const& noexcept { return state_->names; }
std::uint64_t ColumnStream::header_records() const noexcept { return state_->header_records; }

void ColumnStream::schema(ArrowSchema* schema) const {
    const FieldRow end{0, 0};
    const RecordBlock nothing{{}, {}, {}, std::span(&end, 1)};
    OwnedArray array;
    export_columns(nothing, *state_->reader, state_->columns, schema, array.get());
}

bool ColumnStream::next(ArrowArray* array) { return state_->take(array); }

std::vector<std::string> column_names(Input& input, const Dialect& dialect, bool has_header) {
    std::optional<StreamClaim> claim;
    if (input.is_stream()) claim.emplace(input);
    const InputHead head = head_of(input, checked(dialect), has_header, StageOptions().max_record);
    const std::vector<std::string> values = values_of(head, dialect);
    std::vector<std::string> names;
    names.reserve(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) names.push_back(name_of(i, values, head.has_header));
    return names;
}

}  // namespace cleave
