// What the pieces of a job consist of. There are four kinds, and only plan_bytes() knows which kind a job has:
//
//   RangesOfInput      ranges of the input, unchanged
//   RecordsByValue     the records that have the same value, from the input or as changed by rules
//   RewrittenRecords   ranges of records that a stage changes on the way
//   BytesOfStream      bytes as they arrive, in one pass: a piece is known only when its turn comes
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/name_list.h"
#include "base/parallel.h"
#include "cleave/job.h"
#include "cleave/names.h"
#include "core/dialect/check_arguments.h"
#include "core/writer/destination.h"
#include "core/writer/piece_target.h"
#include "engine/known_job.h"
#include "engine/piece_reports.h"

namespace cleave {

class Rewriting;

// What a job works on. Everything here outlives the pieces.
struct JobContext {
    Input& input;
    const Job& job;
    const Policy& policy;         // the job's policy, without a header if the dialect has none
    const ValidDialect& dialect;  // of the input
    Rewriting* rewriting;         // null without rules
    JobReport& report;
    PieceReports& reports;
    const ReportSigning* signing;  // null unless the report is signed
    const Store* store;            // where the names of the pieces lead if they are URLs; null: it is to be opened
    const JoinedInputs* joined;    // null unless the input stands for several
    bool has_rejects;              // whether records may have been left out

    Destination destination() const { return destination_of(job.output); }
    Meter* meter() const { return job.execution.meter; }
};

// For one thread at a time. Throws what run_job() throws.
class PieceBytes {
public:
    explicit PieceBytes(const JobContext& context) : context_(context) {}
    PieceBytes(const PieceBytes&) = delete;
    PieceBytes& operator=(const PieceBytes&) = delete;
    virtual ~PieceBytes() = default;

    // Whether all pieces are known before the first one is written.
    virtual bool is_planned() const { return true; }
    // The pieces that are known.
    std::span<const Piece> pieces() const { return pieces_; }
    // How many pieces there will be, if known.
    virtual std::optional<std::uint64_t> count() const { return pieces_.size(); }
    // For pieces by value: the largest number of pieces that one value has.
    virtual std::optional<std::uint64_t> most_of_value() const { return std::nullopt; }
    // Sets PieceResult::values and part for piece `number`.
    virtual void identify(std::uint64_t /*number*/, PieceResult& /*result*/) const {}
    // The names of all pieces; empty if they are not known yet.
    virtual NameList names(const PieceNamer& namer) const { return names_of(pieces_, namer); }

    // Writes all pieces, and reports them. `paths` is what names() returned for `namer`.
    virtual void write(PieceTarget& target, const PieceNamer& namer, const NameList& paths) = 0;

    // Whether pieces consist only of bytes of the input.
    virtual bool is_of_input() const noexcept = 0;
    // Call this when all pieces are written. Throws what Input::throw_if_changed() throws, and SystemError if
    // bytes of a temporary file could not be read and were replaced with zeros. If only the ctime is new, scans the
    // input again and compares the pieces with it.
    void check_input(PieceTarget& target, const PieceNamer& namer);

protected:
    // Whether finished pieces can be compared with the input. This is not possible for a stream, whose bytes are gone,
    // or with checksums, which may come from bytes that have changed and then changed back.
    bool is_checkable() const;
    // Writes planned pieces with several threads, except those that already exist, which are marked with 1 in
    // `are_there`. write(i, output) writes piece i, counted from 0, and returns the number of bytes in its body. It may
    // be called from any thread.
    using WritePiece = std::function<std::uint64_t(std::size_t i, PieceOutput& output)>;
    void write_side_by_side(PieceTarget& target, const NameList& paths, std::span<const char> are_there,
                            unsigned threads, const WritePiece& write);
    // What planned pieces consist of. Requires is_of_input().
    PartsOf parts() const;
    // How many threads write planned pieces.
    unsigned threads() const;
    // The size of the header in piece `number`.
    std::uint64_t header_size(std::uint64_t number) const {
        return header_size_in(context_.policy.header, number, context_.report.header_size);
    }
    void report_cuts() const;

    const JobContext context_;
    std::vector<Piece> pieces_;

private:
    virtual NameList names_of(std::span<const Piece> pieces, const PieceNamer& namer) const;
    // Plans the pieces again, with a new index of the same input.
    virtual std::vector<Piece> plan_again(const RecordIndex& index);
    virtual std::span<const BlobRange> parts_of(const Piece& piece, PartsRoom& room) const;
    virtual void throw_if_lost() const {}
    bool match_input(PieceTarget& target, const PieceNamer& namer);
};

// Finds out what the pieces consist of, and plans them if the entire input can be examined first. `context` is copied.
std::unique_ptr<PieceBytes> plan_bytes(const JobContext& context);

// Calls work(). If it is cancelled because the target has failed, throws the target's failure.
template <class Work>
void write_to(PieceTarget& target, const Work& work) {
    try {
        work();
    } catch (const Cancelled&) {
        target.throw_failure();
        throw;
    }
}

// Calls write(i) for each of `count` pieces, with several threads. The first failure makes the other calls end early.
template <class Write>
void write_each(PieceTarget& target, std::size_t count, unsigned threads, const Write& write) {
    write_to(target, [&] {
        parallel_for(count, threads, [&](std::size_t i) {
            try {
                write(i);
            } catch (const Cancelled&) {
                throw;
            } catch (const std::exception&) {
                target.fail(std::current_exception());
                throw;
            }
        });
    });
}

// Pieces that are ranges of the input, unchanged.

class RangesOfInput final : public PieceBytes {
public:
    explicit RangesOfInput(const JobContext& context);

    void write(PieceTarget& target, const PieceNamer& namer, const NameList& paths) override;
    bool is_of_input() const noexcept override { return true; }

private:
    std::uint64_t write_piece(std::size_t i, PieceOutput& output);
};

// Pieces that are scanned, cut and written part by part, in order: the pieces of a stream, or of a file that is better
// read only once.

class BytesOfStream final : public PieceBytes {
public:
    explicit BytesOfStream(const JobContext& context) : PieceBytes(context) {}

    bool is_planned() const override { return false; }
    std::optional<std::uint64_t> count() const override { return context_.policy.pieces; }
    NameList names(const PieceNamer& namer) const override;
    void write(PieceTarget& target, const PieceNamer& namer, const NameList& paths) override;
    bool is_of_input() const noexcept override { return context_.rewriting == nullptr; }
};

}  // namespace cleave
