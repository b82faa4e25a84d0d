#include "engine/piece_bytes.h"

#include <utility>

#include "core/reader/input_parts.h"
#include "core/reader/spill.h"
#include "core/writer/feed.h"
#include "core/writer/threads.h"
#include "engine/rules.h"

namespace cleave {
namespace {

// Passes on to the feed what the cutter finds in a stream, and adds headers, names, and the end of each piece.
class StreamSink : public PieceSink {
public:
    // The arguments must outlive the sink. Adds the size of the header to JobReport::header_size.
    StreamSink(const JobContext& context, const PieceNamer& namer, Feed& feed)
        : context_(context), mode_(context.policy.header), namer_(namer), feed_(feed) {}

    void header(std::span<const std::uint8_t> bytes) override {
        context_.report.header_size += bytes.size();
        if (mode_ != HeaderMode::kDrop) header_.append(bytes);
    }

    void begin(const Piece& piece) override {
        end_last();
        feed_.begin(piece, namer_.name(piece));
        if (header_size_in(mode_, piece.number, header_.size()) > 0) {
            header_.for_each_part([this](std::span<const std::uint8_t> bytes) { feed_.write(bytes); });
        }
        if (mode_ == HeaderMode::kFirst) header_.clear();
    }

    void body(std::span<const std::uint8_t> bytes) override {
        feed_.write(bytes);
        if (context_.meter() != nullptr) context_.meter()->written += bytes.size();
    }

    // Does not tell the feed yet: a command takes the end of its input to mean success, and the input may still turn
    // out to be bad.
    void end(const Piece& piece) override {
        ended_ = piece;
        context_.reports.cut(piece);
    }

    // Call this when the input has turned out to be good. Tells the feed that the last piece has ended.
    void end_last() {
        if (const auto piece = std::exchange(ended_, std::nullopt)) feed_.end(*piece);
    }

private:
    const JobContext& context_;
    const HeaderMode mode_;
    const PieceNamer& namer_;
    Feed& feed_;
    SpillBuffer header_;
    std::optional<Piece> ended_;  // the piece whose end feed_ does not know yet
};

}  // namespace

// Returns only names that do not depend on the cuts.
NameList BytesOfStream::names(const PieceNamer& namer) const {
    NameList names(namer.folder());
    if (!context_.policy.pieces || namer.needs_place()) return names;
    for (Piece piece; piece.number <= *context_.policy.pieces; ++piece.number) names.append(namer.name(piece));
    return names;
}

void BytesOfStream::write(PieceTarget& target, const PieceNamer& namer, const NameList& paths) {
    Input& input = context_.input;
    const Execution& execution = context_.job.execution;
    const InputCancellation by_target(input, target.cancellation());
    target.prepare({}, paths, {});
    // A single thread writes plain files as fast as an input can be read in order.
    const bool is_one_thread = context_.destination().has_plain_bytes || context_.job.output.dry_run;
    const unsigned threads = is_one_thread ? 1 : threads_within(execution.thread_count(), kDescriptorsOfFilter);
    write_to(target, [&] {
        const auto feed =
            make_feed(target, threads, [&](const Piece& piece, const std::string& path, const PieceResult& result) {
                context_.reports.finished(piece, path, result);
            });
        StreamSink sink(context_, namer, *feed);
        const Findings findings = context_.rewriting != nullptr
                                      ? cut_in_order(*context_.rewriting, sink)
                                      : cut_stream(input, context_.dialect, execution, context_.policy, sink);
        if (!is_checkable()) input.throw_if_changed();
        context_.reports.found(findings);
        sink.end_last();
        feed->finish();
    });
}

}  // namespace cleave
