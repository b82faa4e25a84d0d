// What the pieces of a job consist of. There are four kinds, and only plan_bytes() knows which one a job has:
//
//   RangesOfInput      ranges of the input, as they are
//   RecordsByValue     the records of one value each: of the input, or of what was made of it
//   RewrittenRecords   ranges of records, which a stage changes on their way
//   BytesOfStream      what comes, in one pass: nothing is known of a piece before its turn
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/name_list.h"
#include "base/parallel.h"
#include "cleave/job.h"
#include "cleave/names.h"
#include "job/piece_reports.h"
#include "lane/rewriting.h"
#include "write/destination.h"
#include "write/piece_target.h"

namespace cleave {

// What a job is about. All of it outlives the pieces.
struct JobContext {
    Input& input;
    const Job& job;
    const Policy& policy;    // the job's, without a header if the dialect has none
    const Dialect& dialect;  // of the input
    Rewriting* rewriting;    // null without rules
    JobReport& report;
    PieceReports& reports;

    Destination destination() const { return destination_of(job.output); }
    Meter* meter() const { return job.execution.meter; }
};

// For one thread at a time. Throws as run_job().
class PieceBytes {
public:
    explicit PieceBytes(const JobContext& context) : context_(context) {}
    PieceBytes(const PieceBytes&) = delete;
    PieceBytes& operator=(const PieceBytes&) = delete;
    virtual ~PieceBytes() = default;

    // Whether all pieces are known before the first one is written.
    virtual bool is_planned() const { return true; }
    // Those that are known.
    std::span<const Piece> pieces() const { return pieces_; }
    // How many there will be, if that is known.
    virtual std::optional<std::uint64_t> count() const { return pieces_.size(); }
    // By value: the most pieces that one value has.
    virtual std::optional<std::uint64_t> most_of_value() const { return std::nullopt; }
    // See PieceResult::values.
    virtual std::vector<std::string> values_of(std::uint64_t /*number*/) const { return {}; }
    // The names of all pieces; none where they are not known yet.
    virtual NameList names(const PieceNamer& namer) const { return names_of(pieces_, namer); }

    // Makes all pieces, and reports them. `paths` are names() by the namer.
    virtual void write(PieceTarget& target, const PieceNamer& namer, const NameList& paths) = 0;

    // Whether pieces have the bytes of the input, and nothing else.
    virtual bool is_of_input() const noexcept = 0;
    // When all pieces are made: throws as Input::throw_if_changed(), and std::system_error if bytes of a temporary file
    // could not be read and were zeros instead. If only the time of the last status change is new, the input is scanned
    // again, and the pieces are compared with it.
    void check_input(PieceTarget& target, const PieceNamer& namer);

protected:
    // Whether finished pieces can be compared with the input. The bytes of a stream are gone. A checksum may stem from
    // bytes that have changed and then changed back.
    bool is_checkable() const;
    // Writes planned pieces, by several threads, except those that are there already: 1 for each of them. write(i,
    // output) writes piece i, from 0, and returns the bytes of its body. Any thread calls it.
    using WritePiece = std::function<std::uint64_t(std::size_t i, PieceOutput& output)>;
    void write_side_by_side(PieceTarget& target, const NameList& paths, std::span<const char> are_there,
                            unsigned threads, const WritePiece& write);
    // What planned pieces consist of, if is_of_input().
    PartsOf parts() const;
    // That write planned pieces.
    unsigned threads() const;
    // In piece `number`.
    std::uint64_t header_size(std::uint64_t number) const {
        return header_size_in(context_.policy.header, number, context_.report.header_size);
    }
    void report_cuts() const;

    const JobContext context_;
    std::vector<Piece> pieces_;

private:
    virtual NameList names_of(std::span<const Piece> pieces, const PieceNamer& namer) const;
    // The pieces by another index of the same input.
    virtual std::vector<Piece> plan_again(const RecordIndex& index);
    virtual std::span<const BlobRange> parts_of(const Piece& piece, PartsRoom& room) const;
    virtual void throw_if_lost() const {}
    bool match_input(PieceTarget& target, const PieceNamer& namer);
};

// Finds out what the pieces consist of, and plans them where all of the input can be seen before. `context` is copied.
std::unique_ptr<PieceBytes> plan_bytes(const JobContext& context);

// Does `work`. If it was cancelled because the target has failed, throws the target's failure.
template <class Work>
void write_to(PieceTarget& target, const Work& work) {
    try {
        work();
    } catch (const Cancelled&) {
        target.throw_failure();
        throw;
    }
}

// Calls write(i) for each of `count` pieces, by several threads. The first failure ends the others early.
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

}  // namespace cleave
