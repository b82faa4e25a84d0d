// The pipeline of cleave/column_stream.h. Threads work on one sequence of pages, in slots (see base/ordered.h):
//
//   pull   the next page: a run of whole records, copied from the input
//   work   change the records by the rules, find their fields, lay out the columns
//   emit   put the batch into a queue, from which next() takes it
//
// Of a blob without rules, the ends of the runs are guessed: nobody walks the bytes before work() finds their fields. A
// guess is right if the records of the run end where the run ends. If one is wrong, or a record has a fault, the
// sequence begins anew behind the last batch that was emitted, and is exact from there on.
//
// From the first next() on, a thread beside that of the caller runs all this. When the queue is full, emit() waits, and
// then no slot is free: so memory is bounded by the slots and the queue. The destructor makes both wake up, and the
// next emit() ends the sequence.
#include "cleave/column_stream.h"

#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <utility>

#include "base/ordered.h"
#include "base/utf8.h"
#include "cleave/error.h"
#include "cleave/foreign.h"
#include "cleave/kernel.h"
#include "dialect/contract.h"
#include "fields/column_pool.h"
#include "job/batch_check.h"
#include "job/input_cancellation.h"
#include "job/input_head.h"
#include "job/record_blocks.h"
#include "scan/contract.h"
#include "scan/guessed_reads.h"
#include "scan/record_runs.h"

namespace cleave {
namespace {

// Pages in work, and batches that wait, for each thread.
constexpr std::size_t kSlotsOfThread = 2;
constexpr std::size_t kWaitingOfThread = 2;

// Columns that were released are kept for the next batches: this many times the bytes of a page for each batch in work.
// With records of two bytes, the offsets alone take twice the bytes of the page.
constexpr std::size_t kKeptOfPage = 2;

// An array that is released.
class Batch {
public:
    Batch() = default;
    Batch(Batch&& other) noexcept : array_(std::exchange(other.array_, {})) {}
    Batch& operator=(Batch&& other) noexcept {
        std::swap(array_, other.array_);
        return *this;
    }
    ~Batch() {
        if (array_.release != nullptr) array_.release(&array_);
    }

    ArrowArray* get() { return &array_; }
    ArrowArray take() { return std::exchange(array_, {}); }

private:
    ArrowArray array_{};
};

// A stream, for one reader: two would each get some of its bytes.
class StreamClaim {
public:
    explicit StreamClaim(Input& input) : input_(input) {
        if (!input.claim()) throw std::invalid_argument("columns: another stream of columns reads this input");
    }
    StreamClaim(const StreamClaim&) = delete;
    StreamClaim& operator=(const StreamClaim&) = delete;
    ~StreamClaim() { input_.release_claim(); }

private:
    Input& input_;
};

// With U+FFFD for each byte that is not UTF-8, and without NUL.
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

// What the names and the number of the columns are taken from.
InputHead head_of(Input& input, const Dialect& dialect, bool has_header, std::uint64_t max_record) {
    refuse_foreign(input.peek(kSniffSize));
    return read_head(input, dialect, has_header ? HeaderMode::kDrop : HeaderMode::kNone, max_record);
}

std::vector<std::string> values_of(const InputHead& head, const Dialect& dialect) {
    return head.sample.empty() ? std::vector<std::string>() : field_values(head.sample, dialect);
}

// "#1,#3", as StageOptions::select takes it.
std::string list_of(const std::vector<std::size_t>& columns) {
    std::string list;
    for (const std::size_t number : columns) list += (list.empty() ? "#" : ",#") + std::to_string(number + 1);
    return list;
}

std::vector<std::size_t> wanted_columns(const ColumnStreamOptions& options, std::size_t fields) {
    std::vector<std::size_t> columns;
    if (options.columns) {
        columns = *options.columns;
        if (columns.empty()) throw std::invalid_argument("columns: none is wanted");
    } else {
        for (std::size_t i = 0; i < fields; ++i) columns.push_back(i);
    }
    std::vector<bool> is_taken(fields);
    for (const std::size_t number : columns) {
        if (number >= fields) throw std::invalid_argument("columns: no column has that number");
        if (is_taken[number]) throw std::invalid_argument("columns: a column that is wanted twice");
        is_taken[number] = true;
    }
    return columns;
}

std::shared_ptr<Input> not_null(std::shared_ptr<Input> input) {
    if (!input) throw std::invalid_argument("columns: no input");
    return input;
}

// Throws std::invalid_argument.
void check_options(const ColumnStreamOptions& options, const Input& input) {
    if (options.page_size == 0 || options.page_size > kMaxBlockSize) {
        throw std::invalid_argument("columns: a page of that size");
    }
    if (options.rules.select) throw std::invalid_argument("columns: `select` beside `columns`");
    if (options.range && input.is_stream()) throw std::invalid_argument("columns: a range of a stream");
}

}  // namespace

struct ColumnStream::State {
    State(std::shared_ptr<Input> whole, const Dialect& of_input, ColumnStreamOptions chosen, const Execution& by);
    ~State();
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    void take_rules(const InputHead& head, const std::vector<std::size_t>& wanted);
    RunOptions run_options() const;
    void run();
    void run_pages();
    bool run_guessed();
    void put(Batch batch);
    bool take(ArrowArray* array);
    bool is_begun_elsewhere() const { return process != 0 && process != ::getpid(); }

    class Slot;

    std::shared_ptr<Input> input;
    Dialect dialect;
    ColumnStreamOptions options;
    const Kernel& kernel;
    std::size_t threads;
    std::shared_ptr<MemoryManager> memory;
    std::size_t fields = 0;            // of the input's records
    std::size_t staged_fields = 0;     // of what the rules make of them
    std::optional<Stage> stage;        // nothing without rules
    std::vector<ArrowColumn> columns;  // of what is laid out
    std::vector<std::string> names;
    std::uint64_t header_records = 0;
    std::optional<ColumnReader> reader;
    std::shared_ptr<ColumnPool> pool;       // of columns that were released
    BlobRange range{};                      // of the records, in a blob
    Place emitted;                          // where the next record to be emitted begins
    std::optional<GuessedReads> guessed;    // while no guess was wrong
    std::optional<RecordRuns> runs;         // else
    std::vector<std::uint8_t> read_before;  // with rules: see BatchTrail
    std::optional<BatchCheck> check;        // likewise
    std::optional<BatchTrail> trail;        // likewise; of what was emitted
    std::optional<StreamClaim> claim;       // of a stream
    // Of a stream's waits. The second one goes first, also when the constructor throws.
    std::optional<Cancellation> cancellation;
    std::optional<InputCancellation> input_cancellation;

    std::mutex mutex;
    std::condition_variable changed;
    std::deque<Batch> waiting;   // guarded by mutex, as are those below
    bool is_stopped = false;     // by the destructor
    bool is_done = false;        // nothing more is put
    std::exception_ptr failure;  // comes after what is waiting
    ::pid_t process = 0;         // that began the stream; 0: none so far. Not guarded
    std::jthread worker;         // from the first take() on; last: it uses the other members
};

ColumnStream::State::State(std::shared_ptr<Input> whole, const Dialect& of_input, ColumnStreamOptions chosen,
                           const Execution& by)
    : input(not_null(std::move(whole))),
      dialect(checked(of_input)),
      options(std::move(chosen)),
      kernel(checked_kernel(by)),
      threads(by.threads),
      memory(MemoryManager::or_default(by.memory)) {
    check_options(options, *input);
    if (dialect.header == HeaderRecord::kNone) options.has_header = false;
    if (!options.layout.memory) options.layout.memory = memory;
    if (input->is_stream()) {
        claim.emplace(*input);
        cancellation.emplace();
        input_cancellation.emplace(*input, &*cancellation);
        input->set_threads(by.threads);
    }
    const InputHead head = head_of(*input, dialect, options.has_header, options.rules.max_record);
    header_records = head.records;
    const std::vector<std::string> values = values_of(head, dialect);
    fields = staged_fields = values.size();
    const std::vector<std::size_t> wanted = wanted_columns(options, fields);
    for (const std::size_t number : wanted) names.push_back(name_of(number, values, options.has_header));
    const bool has_rules = !options.rules.is_empty();
    if (has_rules && fields > 0) take_rules(head, wanted);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        columns.push_back({has_rules ? i : wanted[i], names[i], options.is_text});
    }
    const bool may_differ = options.layout.missing_is_null && !stage;
    reader.emplace(dialect, may_differ ? 0 : staged_fields, options.layout);
    const std::size_t batches = threads * (kSlotsOfThread + kWaitingOfThread) + 1;  // the consumer has one
    pool = std::make_shared<ColumnPool>(columns.size(), batches * kKeptOfPage * options.page_size);

    emitted = {head.size, head.records};
    if (input->is_stream()) {
        runs.emplace(*input, emitted, dialect, kernel, run_options());
        return;
    }
    const std::uint64_t size = input->blob().size();
    range = {emitted.offset, size - emitted.offset};
    if (options.range) {
        const RecordRange& wanted_range = *options.range;
        const std::uint64_t begin = wanted_range.begin.offset;
        if (begin < emitted.offset || begin > size || wanted_range.size > size - begin) {
            throw std::invalid_argument("columns: a range that is not in the input, or not behind its header");
        }
        emitted = wanted_range.begin;
        range = {begin, wanted_range.size};
    }
    if (has_rules) {
        const auto before = head.before(emitted.offset);
        read_before.assign(before.begin(), before.end());
        runs.emplace(*input, range, emitted.record, dialect, kernel, run_options());
    } else {
        guessed.emplace(*input, range, dialect, kernel, run_options());
    }
}

// Throws as Stage.
void ColumnStream::State::take_rules(const InputHead& head, const std::vector<std::size_t>& wanted) {
    refuse_marked_quote(head, dialect);
    StageOptions& rules = options.rules;
    if (!rules.is_delimiter_given || !rules.is_header_given) {
        // `select` has numbers. Whether rules may have them is judged without it.
        StageOptions judged;
        judged.rules = rules.rules;
        judged.is_delimiter_given = rules.is_delimiter_given;
        judged.is_header_given = rules.is_header_given;
        judged.is_escape_given = rules.is_escape_given;
        std::ignore = Stage(judged, dialect, head.sample, options.has_header, options.keys.get());
    }
    rules.is_delimiter_given = rules.is_header_given = true;
    rules.select = RuleText{list_of(wanted), "columns"};
    stage.emplace(rules, dialect, head.sample, options.has_header, options.keys.get());
    staged_fields = wanted.size();
    check.emplace(*input, BatchCheck::Reads::kFile);
}

RunOptions ColumnStream::State::run_options() const {
    const std::uint64_t longest = options.rules.is_empty() ? kMaxRecordLimit : options.rules.max_record;
    return {options.page_size, longest, nullptr, memory};
}

ColumnStream::State::~State() {
    {
        const std::scoped_lock lock(mutex);
        is_stopped = true;
    }
    changed.notify_all();
    if (cancellation) cancellation->request();
    if (worker.joinable()) worker.join();
}

class ColumnStream::State::Slot {
public:
    explicit Slot(State& state)
        : state_(state),
          run_(state.memory),
          fields_(state.dialect, state.kernel, Reading::kByDialect,
                  state.options.layout.missing_is_null && !state.stage ? 0 : state.staged_fields, state.memory) {
        if (state.stage) worker_.emplace(*state.stage, state.kernel, state.memory);
    }

    bool pull();
    bool is_large() const { return run_.bytes.size() > 2 * state_.options.page_size; }
    void work();
    void emit();

private:
    void change();
    void lay_out(std::span<const std::uint8_t> bytes);
    Place begin_of(std::uint64_t record);

    State& state_;
    RecordRun run_;
    FieldReader fields_;
    std::optional<StageWorker> worker_;  // with rules
    Batch batch_;
};

bool ColumnStream::State::Slot::pull() {
    if (state_.columns.empty()) return false;
    const bool is_found = state_.guessed ? state_.guessed->next(run_) : state_.runs->next(run_);
    if (is_found && !run_.bytes.empty()) return true;
    std::optional<Place> open;
    if (state_.runs) open = state_.runs->open_quote();
    state_.input->throw_if_changed();
    if (open && !state_.options.accepts_open_quote) throw OpenQuoteError(*open);
    return false;
}

void ColumnStream::State::Slot::work() {
    if (worker_) {
        change();
        try {
            lay_out(worker_->written());
        } catch (const InputError& error) {  // its offset is one of the changed bytes
            if (!error.place()) throw;
            throw InputError(error.what(), begin_of(error.place()->record));
        }
        state_.check->compare(run_.place.offset, run_.bytes);
    } else {
        if (state_.runs) state_.runs->require_whole(run_);
        lay_out(run_.bytes);
    }
    if (is_large()) run_.copy.release();
}

void ColumnStream::State::Slot::emit() {
    if (state_.trail) state_.trail->take(run_.bytes);
    Place& place = state_.emitted;
    place = {place.offset + run_.bytes.size(), place.record + static_cast<std::uint64_t>(batch_.get()->length)};
    state_.put(std::move(batch_));
}

void ColumnStream::State::Slot::change() {
    worker_->clear();
    for_each_block(*worker_, run_.bytes, run_.place, run_.is_cut, state_.stage->max_record(),
                   [&](const RecordBlock& block) { worker_->write(block); });
}

void ColumnStream::State::Slot::lay_out(std::span<const std::uint8_t> bytes) {
    const RecordBlock block = fields_.read(bytes, run_.place, !state_.guessed);
    if (block.bytes.size() != bytes.size()) throw InputError("the end of a run was guessed wrong");
    ArrowSchema schema{};
    export_columns(block, *state_.reader, state_.columns, nullptr, state_.pool, &schema, batch_.get());
    schema.release(&schema);
}

// Where a record of the run begins in the input. The run is read again: only an error asks.
Place ColumnStream::State::Slot::begin_of(std::uint64_t record) {
    Place begin = run_.place;
    for_each_block(*worker_, run_.bytes, run_.place, run_.is_cut, state_.stage->max_record(),
                   [&](const RecordBlock& block) {
                       if (record < block.place.record || record - block.place.record >= block.record_count()) return;
                       begin = {block.place.offset + block.rows[record - block.place.record].begin, record};
                   });
    return begin;
}

void ColumnStream::State::run_pages() {
    std::vector<Slot> slots;
    const std::size_t count = threads * kSlotsOfThread;
    slots.reserve(count);
    while (slots.size() < count) slots.emplace_back(*this);
    run_in_order(std::span(slots), static_cast<unsigned>(threads));
}

// Returns false if the records from `emitted` on are to be read exactly. What is thrown is thrown of the first run that
// is not sound, and that one begins with a record.
bool ColumnStream::State::run_guessed() {
    try {
        run_pages();
        return true;
    } catch (const InputError&) {  // without the number of the record
        return false;
    }
}

void ColumnStream::State::run() {
    std::exception_ptr thrown;
    try {
        if (check) trail.emplace(*check, emitted.offset, read_before);
        if (guessed && !run_guessed()) {
            guessed.reset();
            const BlobRange rest{emitted.offset, range.offset + range.size - emitted.offset};
            runs.emplace(*input, rest, emitted.record, dialect, kernel, run_options());
        }
        if (runs) run_pages();
    } catch (...) {
        try {
            input->rethrow();
        } catch (...) {  // rethrown by next()
            thrown = std::current_exception();
        }
    }
    pool->close();  // no batch is made any more
    {
        const std::scoped_lock lock(mutex);
        failure = std::move(thrown);  // next() alone ends the exception
        is_done = true;
    }
    changed.notify_all();
}

// Waits until there is room.
void ColumnStream::State::put(Batch batch) {
    {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return is_stopped || waiting.size() < threads * kWaitingOfThread; });
        if (is_stopped) throw Cancelled();
        waiting.push_back(std::move(batch));
    }
    changed.notify_all();
}

bool ColumnStream::State::take(ArrowArray* array) {
    if (is_begun_elsewhere()) {
        throw std::logic_error("columns: this process is a fork of the one that began the stream; select them anew");
    }
    if (process == 0) worker = std::jthread([this] { run(); });
    process = ::getpid();
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return is_done || !waiting.empty(); });
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

// In a fork, the threads that the destructor would join are not there, and neither are those that may hold its locks.
void ColumnStream::Release::operator()(State* state) const noexcept {
    if (!state->is_begun_elsewhere()) std::default_delete<State>()(state);
}

const std::vector<std::string>& ColumnStream::names() const noexcept { return state_->names; }
std::uint64_t ColumnStream::header_records() const noexcept { return state_->header_records; }

void ColumnStream::schema(ArrowSchema* schema) const {
    const FieldRow end{0, 0};
    const RecordBlock nothing{{}, {}, {}, std::span(&end, 1)};
    Batch batch;
    export_columns(nothing, *state_->reader, state_->columns, nullptr, schema, batch.get());
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
