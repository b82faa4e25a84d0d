// The C interface. Exceptions are turned into statuses here, so none escapes from a C function.
#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cleave/cleave_c.h"
#include "cleave/dialect.h"
#include "cleave/error.h"
#include "cleave/foreign.h"
#include "cleave/input.h"
#include "cleave/plan.h"
#include "cleave/scan.h"
#include "cleave/version.h"
#include "core/scan/check_arguments.h"

struct cleave_file {
    cleave::Input input;
    cleave::SniffedDialect sniffed;
    cleave::Execution execution;
    cleave::HeaderMode header = cleave::HeaderMode::kRepeat;
    bool allow_open_quote = false;
    std::optional<cleave::RecordIndex> index;  // of `input`; created by the first call that needs it
};

struct cleave_plan {
    std::uint64_t header_size = 0;
    std::vector<std::uint64_t> starts, lengths, first_records, records;
};

namespace cleave {
namespace {

void set_error(cleave_error& error, const Failure& failure) noexcept {
    error = {};
    error.status = failure.status;
    if (failure.place) {
        error.has_place = 1;
        error.byte = failure.place->offset;
        error.record = failure.place->record;
    }
    std::strncpy(error.message, failure.what, CLEAVE_MESSAGE_SIZE - 1);
}

// Runs `work` and returns its status.
template <class Work>
std::int32_t guarded(cleave_error* error, const Work& work) noexcept {
    try {
        work();
        return CLEAVE_OK;
    } catch (...) {
        const Failure failure = current_failure();
        if (error != nullptr) set_error(*error, failure);
        return failure.status;
    }
}

template <class Struct>
void check_size(const Struct& given, const char* name) {
    if (given.struct_size != sizeof(Struct)) {
        throw ArgumentError(std::string(name) + ": struct_size is not that of this version");
    }
}

template <class T>
T& not_null(T* given, const char* name) {
    if (given == nullptr) throw ArgumentError(std::string(name) + ": NULL");
    return *given;
}

DialectOptions dialect_options(const cleave_options& options) {
    DialectOptions wanted;
    if (options.dialect != nullptr) {
        const auto preset = dialect_preset(options.dialect);
        if (!preset) throw ArgumentError("dialect: '" + std::string(options.dialect) + "' is not a preset");
        wanted = *preset;
    }
    constexpr std::int32_t kMostByte = 0xFF;
    if (options.delimiter < -1 || options.delimiter > kMostByte)
        throw ArgumentError("delimiter: must be a byte, or -1");
    if (options.delimiter >= 0) {
        wanted.dialect.delimiter = static_cast<std::uint8_t>(options.delimiter);
        wanted.sniff_delimiter = false;
    }
    return wanted;
}

std::unique_ptr<cleave_file> open(const char* path, const cleave_options& options) {
    check_size(options, "options");
    const DialectOptions wanted = dialect_options(options);
    Execution execution;
    execution.threads = options.threads;
    Input input = Input::open(&not_null(path, "path"));
    input.set_threads(execution.thread_count());
    const SniffedDialect sniffed = settle_dialect(wanted, input);
    refuse_foreign(input.peek(kSniffSize));
    input.spool();
    const HeaderMode mode = options.has_header != 0 ? HeaderMode::kRepeat : HeaderMode::kNone;
    const HeaderMode header = header_mode(mode, sniffed.dialect);
    return std::make_unique<cleave_file>(cleave_file{std::move(input), sniffed, std::move(execution), header,
                                                     options.allow_open_quote != 0, std::nullopt});
}

// Returns the records of the file. The first call scans it.
const RecordIndex& scanned(cleave_file& file) {
    if (!file.index) {
        file.index.emplace(index_records(file.input, ValidDialect(file.sniffed), file.execution));
    }
    file.input.throw_if_changed();
    const auto& open_quote = file.index->findings().open_quote;
    if (open_quote && !file.allow_open_quote) throw OpenQuoteError(*open_quote);
    return *file.index;
}

Policy policy_of(const cleave_limits& limits, HeaderMode header) {
    const auto limit = [](std::uint64_t value) { return value == 0 ? std::nullopt : std::optional(value); };
    Policy policy;
    policy.pieces = limit(limits.pieces);
    policy.records = limit(limits.records);
    policy.max_bytes = limit(limits.max_bytes);
    policy.header = header;
    return policy;
}

std::unique_ptr<cleave_plan> plan_of(cleave_file& file, const cleave_limits& limits) {
    check_size(limits, "limits");
    auto plan = std::make_unique<cleave_plan>();
    plan->header_size = plan_pieces(scanned(file), policy_of(limits, file.header), [&](const Piece& piece) {
        plan->starts.push_back(piece.start);
        plan->lengths.push_back(piece.length);
        plan->first_records.push_back(piece.first_record);
        plan->records.push_back(piece.records);
    });
    file.input.throw_if_changed();
    return plan;
}

}  // namespace
}  // namespace cleave

const char* cleave_version() { return CLEAVE_VERSION; }

int32_t cleave_open(const char* path, const cleave_options* options, cleave_file** file, cleave_error* error) {
    constexpr cleave_options kDefaults = CLEAVE_OPTIONS_INIT;
    if (file != nullptr) *file = nullptr;
    return cleave::guarded(error, [&] {
        cleave_file*& opened = cleave::not_null(file, "file");
        opened = cleave::open(path, options == nullptr ? kDefaults : *options).release();
    });
}

void cleave_close(cleave_file* file) { delete file; }

int32_t cleave_count(cleave_file* file, uint64_t* records, cleave_error* error) {
    return cleave::guarded(error, [&] {
        cleave_file& opened = cleave::not_null(file, "file");
        const cleave::Findings& findings = cleave::scanned(opened).findings();
        const bool has_header = opened.header != cleave::HeaderMode::kNone;
        cleave::not_null(records, "records") = findings.records - findings.records_before_data(has_header);
    });
}

int32_t cleave_read(cleave_file* file, uint64_t offset, void* buffer, uint64_t size, cleave_error* error) {
    return cleave::guarded(error, [&] {
        const cleave::Blob& blob = cleave::not_null(file, "file").input.blob();
        if (size == 0) return;
        auto* out = static_cast<std::uint8_t*>(&cleave::not_null(static_cast<std::uint8_t*>(buffer), "buffer"));
        if (offset > blob.size() || size > blob.size() - offset) {
            throw cleave::ArgumentError("offset: the file has " + std::to_string(blob.size()) + " bytes");
        }
        std::vector<std::uint8_t> lent;
        for (std::uint64_t done = 0; done < size;) {
            const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(size - done, cleave::kMaxBlockSize));
            std::ranges::copy(blob.lend(offset + done, part, lent), out + done);
            done += part;
        }
        file->input.throw_if_changed();
    });
}

int32_t cleave_plan_make(cleave_file* file, const cleave_limits* limits, cleave_plan** plan, cleave_error* error) {
    if (plan != nullptr) *plan = nullptr;
    return cleave::guarded(error, [&] {
        cleave_plan*& made = cleave::not_null(plan, "plan");
        made = cleave::plan_of(cleave::not_null(file, "file"), cleave::not_null(limits, "limits")).release();
    });
}

void cleave_plan_free(cleave_plan* plan) { delete plan; }

uint64_t cleave_plan_size(const cleave_plan* plan) { return plan->starts.size(); }
uint64_t cleave_plan_header_size(const cleave_plan* plan) { return plan->header_size; }
const uint64_t* cleave_plan_starts(const cleave_plan* plan) { return plan->starts.data(); }
const uint64_t* cleave_plan_lengths(const cleave_plan* plan) { return plan->lengths.data(); }
const uint64_t* cleave_plan_first_records(const cleave_plan* plan) { return plan->first_records.data(); }
const uint64_t* cleave_plan_records(const cleave_plan* plan) { return plan->records.data(); }
