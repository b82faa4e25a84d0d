#include "lane/record_classes.h"

#include <string>
#include <utility>

#include "cleave/error.h"
#include "cleave/job.h"
#include "stage/program.h"

namespace cleave {

class RecordClasses::Follower final : public RecordLane::Follower {
public:
    explicit Follower(RecordClasses& classes)
        : classes_(classes),
          digester_(*classes.key_, classes.stage_.dialect(), classes.memory_),
          found_(classes.questions_.size()) {}

    void work(const RecordLane::Written& records) override {
        if (records.keys == nullptr) throw LogicError("classes: a device hands over no fields");
        for (std::size_t i = 0; i < found_.size(); ++i) {
            found_[i].clear();
            for (std::size_t r = 0; r < records.starts.size(); ++r) {
                if (!records.keys->is_empty_record(r)) add(i, *records.keys, r);
            }
        }
    }

    void emit(const RecordLane::Written& records) override {
        for (std::size_t i = 0; i < found_.size(); ++i) {
            for (std::size_t r = 0; r < found_[i].size(); ++r) {
                ClassEntry& entry = found_[i][r];
                if (!classes_.questions_[i].value) entry.detail[0] = classes_.records_ + r;
                classes_.entries_[i].append(entry);
            }
        }
        classes_.records_ += found_.front().size();
        classes_.size_ += records.bytes.size();
    }

private:
    void add(std::size_t number, const StageWorker& worker, std::size_t record) {
        const ClassQuestion& question = classes_.questions_[number];
        ClassEntry entry;
        for (const std::size_t key : question.keys) digester_.add(worker.key_field(record, key));
        entry.of_class = digester_.finish();
        entry.detail = {};
        if (question.value) {
            digester_.add(worker.key_field(record, *question.value));
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

ClassDigest RecordClasses::digest_of(const std::vector<std::string>& fields) const {
    ClassDigester digester(*key_, stage_.dialect(), memory_);
    for (const std::string& field : fields) {
        digester.add({reinterpret_cast<const std::uint8_t*>(field.data()), field.size()});
    }
    return digester.finish();
}

Stage with_common_classes(Stage stage, Input& input, const InputHead& head, const Execution& execution) {
    const Rule* const rule = suppress_rule(stage);
    if (rule == nullptr) return stage;
    const auto all = std::make_shared<const CommonClasses>();
    if (input.is_stream()) {
        if (!input.peek(1).empty()) throw SpoolError();
        return with_common(stage, all);
    }
    Execution first_pass = execution;
    first_pass.meter = nullptr;
    first_pass.offload = nullptr;
    const Stage counted = with_keys(with_common(stage, all), rule->columns, false);
    ClassQuestion question;
    for (std::size_t i = 0; i < rule->columns.size(); ++i) question.keys.push_back(i);
    RecordClasses classes(counted, {question}, first_pass);
    RecordLane(input, head, counted, first_pass).write_all(classes.followers(), &counted);
    classes.finish();
    const std::vector<std::string> nulls(rule->columns.size(), stage.program().null_token);
    const std::vector<ClassDigest> kept =
        classes_to_keep(classes.entries(0), std::get<Suppress>(rule->operation).least, classes.digest_of(nulls),
                        first_pass.thread_count(), MemoryManager::or_default(execution.memory));
    return with_common(stage, std::make_shared<const CommonClasses>(classes.key(), kept));
}

}  // namespace cleave
