// What a File writes: pieces, by the library's job, and its index.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cleave/error.h"
#include "cleave/index_file.h"
#include "cleave/job.h"
#include "errors.h"
#include "file.h"

namespace nb = nanobind;

namespace cleave::python {
namespace {

// Tells a Python function how far a job is, at most ten times a second, and asks it for its consent at the end.
class Progress final : public Watch, public JobObserver {
public:
    // `warning` is issued before the pieces appear, because a filter may make an exception of it.
    Progress(nb::object function, std::string& warning) : function_(std::move(function)), warning_(warning) {}

    Meter& meter() { return meter_; }
    const std::vector<std::string>& paths() const { return paths_; }

    // Before the job: what it reads, and whether its records are known.
    void begin(const Input& input, bool is_scanned) {
        reads_ = is_scanned ? 1 : 2;
        if (input.is_stream()) {
            file_size_ = input.identity().mtime_ns != 0 ? input.identity().size : 0;
        } else {
            size_ = input.blob().size();
            is_blob_ = true;
        }
    }

    void look() override {
        const auto now = std::chrono::steady_clock::now();
        if (function_.is_none() || now - last_ < kPeriod) return;
        last_ = now;
        most_ = std::max(most_, done());
        tell(most_);
    }

    void consent() override {
        if (!function_.is_none()) tell(std::max({most_, done(), total()}));
        if (const std::string warning = std::exchange(warning_, {}); !warning.empty()) warn(warning);
        if (rejects_ && rejects_->rejected > 0) {
            warn(std::to_string(rejects_->rejected) + " of " + std::to_string(rejects_->accepted + rejects_->rejected) +
                 " records were rejected; " + rejects_->path + " has them");
        }
        for (const std::string& path : older_pieces_) {
            warn(path + ": may be a piece of an earlier run, with values that the rules change");
        }
    }

    void spooled(std::uint64_t size) override {
        size_ = size;
        is_blob_ = true;
    }
    void finished(const Piece& /*piece*/, const std::string& path, const PieceResult& /*result*/) override {
        paths_.push_back(path);
    }
    void concluded(const JobReport& report) override {
        older_pieces_ = report.older_pieces;
        rejects_ = report.rejects;
        await_consent();
    }

private:
    static constexpr std::chrono::milliseconds kPeriod{100};

    // A stream is read once, as it is in its file; a blob is read, unless its records are known, and then written.
    std::uint64_t done() const {
        if (!is_blob_) return meter_.scanned;
        const std::uint64_t size = size_;
        const std::uint64_t scanned = reads_ == 2 ? std::min<std::uint64_t>(meter_.scanned, size) : 0;
        return file_size_ + scanned + std::min<std::uint64_t>(meter_.written, size);
    }
    // 0 if it is not known.
    std::uint64_t total() const { return file_size_ + (is_blob_ ? reads_ * size_ : 0); }

    void tell(std::uint64_t done) const {
        const std::uint64_t all = total();
        const bool is_known = is_blob_ || all > 0;
        function_(is_known ? std::min(done, all) : done, is_known ? nb::object(nb::int_(all)) : nb::none());
    }

    nb::object function_;
    std::string& warning_;
    Meter meter_;
    std::atomic<std::uint64_t> size_{0};  // of the blob
    std::atomic<bool> is_blob_{false};
    std::atomic<std::uint64_t> file_size_{0};  // of what was a stream
    std::atomic<std::uint64_t> reads_{2};      // how often the bytes of a blob are read
    std::uint64_t most_ = 0;
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
    std::vector<std::string> paths_;
    std::vector<std::string> older_pieces_;
    std::optional<RejectCounts> rejects_;
};

std::string list_of(const std::vector<std::size_t>& columns) {
    std::string list;
    for (const std::size_t number : columns) list += (list.empty() ? "#" : ",#") + std::to_string(number + 1);
    return list;
}

}  // namespace

std::unique_ptr<File> File::without_rejects(const std::string& list, bool has_any_fields, bool has_any_number) {
    if (!is_regular_) throw ArgumentError("rejects: only for a file that was opened by its path");
    RejectOptions options{.path = list};
    if (has_any_number) options.per_million = 1'000'000;
    if (has_any_fields && !is_json_lines(sniffed_.dialect)) {
        options.kinds = bits_of(RejectKind::kQuotes, RejectKind::kSize);
    }
    Settings settings = settings_;
    settings.uses_index = false;
    Policy policy;
    policy.header = settings.has_header ? HeaderMode::kRepeat : HeaderMode::kNone;
    std::shared_ptr<Input> input;
    run([&] {
        input = reopened();
        input->spool();
    });
    std::unique_ptr<File> left(new File(std::move(input), settings, true));
    left->run([&] {
        left->sifting_ = sift(*left->input_, left->sniffed_.dialect, policy, options, left->execution());
        left->sifting_->publish();
        left->sifting_->commit();
    });
    return left;
}

std::pair<Place, nb::bytes> File::reject(std::uint64_t record) {
    const std::uint64_t start = start_of(record);
    const Place place = sifting_->in_input({start, header_records() + record});
    return {{place.offset, place.record - header_records()}, read(start, start_of(record + 1) - start, 0)};
}

// The input for a job, which reads a stream to its end. If a file is a stream, it is opened again where the command
// would not copy it either, so that the pieces have the same names, and that no value is copied under rules. Pipes
// are read, and can then not be used again.
std::shared_ptr<Input> File::input_for_job(const Writing& writing, Meter& meter) {
    if (is_read_) need_blob();       // throws
    if (!writing.rejects.empty()) {  // the job leaves an input without the bad records
        if (is_regular_) return reopened();
        if (!input_->is_stream())
            throw ArgumentError("rejects: only for a file that was opened by its path, or a pipe");
        return input_;
    }
    const bool has_rules = writing.columns || !writing.rules.empty();
    const bool stays_stream = has_rules || !needs_whole_input(writing.policy);
    if (was_stream_ && is_regular_ && stays_stream) return reopened();
    look_for_index();
    const bool is_pipe = identity_.mtime_ns == 0;
    if (input_->is_stream() && !has_rules && !(stays_stream && is_pipe)) input_->spool(&meter);
    return input_;
}

std::vector<std::string> File::write(const Writing& writing, nb::object progress) {
    Progress watch(std::move(progress), warning_);
    Job job;
    job.dialect = settled_options(sniffed_.dialect);
    job.policy = writing.policy;
    job.output = writing.output;
    job.allow_open_quote = settings_.allow_open_quote;
    StageOptions& rules = job.stage.options;
    if (writing.columns) rules.select = RuleText{list_of(*writing.columns), "select"};
    for (const auto& [text, origin] : writing.rules) rules.rules.push_back({text, origin});
    rules.files = files_of_rules(rules.rules);
    rules.is_escape_given = settings_.is_escape_given;
    rules.is_delimiter_given = rules.is_header_given = true;  // the numbers refer to names()
    job.stage.keys = writing.keys.get();
    if (!writing.rejects.empty()) {
        job.rejects = RejectOptions{.path = writing.rejects, .makes_folder = true, .replaces = writing.output.replace};
    }
    run_job(
        [&] {
            const std::shared_ptr<Input> input = input_for_job(writing, watch.meter());
            watch.meter().reset();
            job.execution = execution();
            job.execution.meter = &watch.meter();
            if (!rules.is_empty() || job.rejects) {
                job.execution.index = nullptr;
            } else if (index_ && input == input_) {
                job.execution.known = &*index_;
            }
            watch.begin(*input, job.execution.known != nullptr);
            is_read_ = input == input_ && input->is_stream();
            cleave::run_job(*input, job, watch);
        },
        watch);
    return watch.paths();
}

std::string File::make_index() {
    if (!is_regular_) throw ArgumentError("only a file that was opened by its path can have an index");
    run([&] {
        const std::shared_ptr<Input> input = was_stream_ ? reopened() : input_;
        if (was_stream_) {
            input->peek(1);  // detects the compression
            const bool is_gzip = input->compression() == Compression::kGzip && input->encoding() == Encoding::kBytes;
            if (!is_gzip) throw ArgumentError(input->path() + ": only a plain or gzip regular file can have an index");
        }
        Execution execution = this->execution();
        execution.index = nullptr;
        write_index(*input, sniffed_.dialect, execution);
        if (was_stream_) {
            input_ = reopened();
            input_->peek(1);
            is_read_ = false;
        }
        index_.reset();
        index_file_.reset();
        copied_.reset();
        scanned_.reset();
        is_gzip_by_index_ = has_looked_ = false;
        look_for_index();
    });
    return index_path(input_->path());
}

}  // namespace cleave::python
