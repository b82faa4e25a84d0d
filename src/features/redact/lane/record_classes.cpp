#include "features/redact/lane/record_classes.h"

#include <cstring>
#include <string>
#include <utility>

#include "base/text_bytes.h"
#include "cleave/error.h"
#include "features/redact/stage/program.h"

namespace cleave {

class RecordClasses::Follower final : public RecordLane::Follower {
public:
    explicit Follower(RecordClasses& classes)
        : classes_(classes),
          digester_(classes.key_, classes.stage_.dialect(), classes.memory_),
          found_(classes.questions_.size()) {}

    void work(const RecordLane::Written& records) override {
        if (records.keys == nullptr) throw LogicError("classes: a device hands over no fields");
        for (std::size_t i = 0; i < found_.size(); ++i) {
            found_[i].clear();
            for (std::size_t r = 0; r < records.starts.size(); ++r) {
                if (!KeptFields::is_empty_record(*records.keys, r)) add(i, *records.keys, r);
            }
        }
    }

    void emit(const RecordLane::Written& records) override {
        for (std::size_t i = 0; i < found_.size(); ++i) {
            for (const ClassEntry& entry : found_[i]) classes_.entries_[i].append(entry);
        }
        classes_.size_ += records.bytes.size();
    }

private:
    void add(std::size_t number, const StageWorker& worker, std::size_t record) {
        const ClassQuestion& question = classes_.questions_[number];
        ClassEntry entry;
        for (const std::size_t key : question.keys) digester_.add(KeptFields::field(worker, record, key));
        entry.of_class = digester_.finish();
        entry.detail = {};
        if (question.value) {
            digester_.add(KeptFields::field(worker, record, *question.value));
            entry.detail = digester_.finish();
        }
        found_[number].push_back(entry);
    }

    RecordClasses& classes_;
    ClassDigester digester_;
    std::vector<std::vector<ClassEntry>> found_;  // in the current batch, for each question
};

RecordClasses::RecordClasses(const Stage& stage, std::vector<ClassQuestion> questions, const Execution& execution)
    : stage_(stage),
      questions_(std::move(questions)),
      threads_(execution.thread_count()),
      memory_(MemoryManager::or_default(execution.memory)),
      entries_(questions_.size()) {}

RecordLane::MakeFollower RecordClasses::followers() {
    return [this] { return std::make_unique<Follower>(*this); };
}

void RecordClasses::finish() {
    for (ClassEntries& entries : entries_) entries.finish();
}

ClassCounts RecordClasses::counts(std::size_t question) const {
    return count_classes(entries_[question], questions_[question].value.has_value(), threads_, memory_);
}

namespace {

// Takes what workers write in the first pass of `suppress`: the digests of classes.
class Digests final : public RecordLane::Follower {
public:
    explicit Digests(ClassEntries& entries, std::uint64_t& count) : entries_(entries), count_(count) {}

    void emit(const RecordLane::Written& records) override {
        ClassEntry entry{};
        for (std::size_t at = 0; at < records.bytes.size(); at += sizeof entry.of_class) {
            std::memcpy(entry.of_class.data(), records.bytes.data() + at, sizeof entry.of_class);
            entry.detail[0] = count_++;
            entries_.append(entry);
        }
    }

private:
    ClassEntries& entries_;
    std::uint64_t& count_;  // of the records that are not empty
};

// The class whose values are all null.
ClassDigest class_of_nulls(const Stage& stage, const RunKey& key, std::size_t columns,
                           const std::shared_ptr<MemoryManager>& memory) {
    ClassDigester digester(key, stage.dialect(), memory);
    const std::string& null = stage.program().null_token;
    for (std::size_t i = 0; i < columns; ++i) digester.add(bytes_of(null));
    return digester.finish();
}

CommonClasses find_common_classes(const Stage& stage, const Rule& suppress, Input& input, const InputHead& head,
                                  const Execution& execution) {
    const auto key = std::make_shared<const RunKey>();
    const auto memory = MemoryManager::or_default(execution.memory);
    const Stage first = with_common(stage, std::make_shared<const CommonClasses>(key));
    ClassEntries entries;
    std::uint64_t count = 0;
    RecordLane(input, head, first, execution).write_all([&] { return std::make_unique<Digests>(entries, count); });
    entries.finish();
    return {key, classes_to_keep(entries, operation_of<Suppress>(suppress)->least,
                                 class_of_nulls(stage, *key, suppress.columns.size(), memory), execution.thread_count(),
                                 memory)};
}

}  // namespace

Stage with_common_classes(Stage stage, Input& input, const InputHead& head, const Execution& execution) {
    const Rule* const rule = suppress_rule(stage);
    if (rule == nullptr) return stage;
    Stage whole = with_common(stage, std::make_shared<const CommonClasses>());
    if (input.is_stream()) {
        if (!input.peek(1).empty()) throw SpoolError();
        return whole;
    }
    Execution first_pass = execution;
    first_pass.meter = nullptr;
    first_pass.offload = nullptr;
    try {
        return with_common(
            stage, std::make_shared<const CommonClasses>(find_common_classes(stage, *rule, input, head, first_pass)));
    } catch (const InputError&) {
        // The first pass does not apply all rules, so there may be an earlier fault.
        RecordLane(input, head, whole, first_pass).throw_first_fault();
        throw;
    }
}

}  // namespace cleave
