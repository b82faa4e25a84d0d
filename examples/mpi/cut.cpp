// Cuts a file on many machines: each process reads one range of the file, and writes the records that start there.
//
//   mpirun -n 4 example_mpi_cut FILE PREFIX      writes PREFIX.0.csv .. PREFIX.3.csv, each with the header
//
//   each process summarises its range
//   MPI_Exscan composes the summaries of the preceding ranges, which gives the state on entering the range
//   that state determines the first record start in the range; the piece goes from there to the first in a later range
//
// The file must be on a file system that all processes see. Assumes commas, double quotes and LF or CRLF.
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "cleave/cleave.h"
#include "cleave/experimental/range_plan.h"
#include "cleave/experimental/range_summary.h"

namespace {

// `lower` summarises the ranges before those in `upper`. The order matters, because the operation does not commute.
void compose_all(void* lower, void* upper, int* count,  // NOLINT(readability-non-const-parameter): as MPI requires
                 MPI_Datatype* /*type*/) {
    const auto* first = static_cast<const cleave::RangeSummary*>(lower);
    auto* second = static_cast<cleave::RangeSummary*>(upper);
    for (int i = 0; i < *count; ++i) second[i] = cleave::compose(first[i], second[i]);
}

// The summary of all ranges before this process's range. For process 0 it is empty, at the start of the input.
cleave::RangeSummary compose_before(const cleave::RangeSummary& own, int rank) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(static_cast<int>(sizeof own), MPI_BYTE, &type);
    MPI_Type_commit(&type);
    MPI_Op operation = MPI_OP_NULL;
    MPI_Op_create(&compose_all, 0, &operation);
    cleave::RangeSummary before;
    MPI_Exscan(&own, &before, 1, type, operation, MPI_COMM_WORLD);
    MPI_Op_free(&operation);
    MPI_Type_free(&type);
    if (rank > 0) return before;
    return cleave::summarise_range(std::span<const std::uint8_t>(), 0, own.dialect, cleave::Execution{});
}

void write_range(std::ofstream& out, const cleave::Blob& blob, std::uint64_t begin, std::uint64_t end) {
    constexpr std::uint64_t kPartSize = 1 << 20;
    std::vector<std::uint8_t> buffer;
    for (std::uint64_t at = begin; at < end; at += kPartSize) {
        const auto part = blob.lend(at, static_cast<std::size_t>(std::min(kPartSize, end - at)), buffer);
        out.write(reinterpret_cast<const char*>(part.data()), static_cast<std::streamsize>(part.size()));
    }
}

void cut(const std::string& path, const std::string& prefix, int rank, int count) {
    const cleave::Input input = cleave::Input::open(path);
    const cleave::Blob& blob = input.blob();
    const std::uint64_t share = blob.size() / static_cast<std::uint64_t>(count);
    const std::uint64_t begin = share * static_cast<std::uint64_t>(rank);
    const std::uint64_t end = rank + 1 < count ? begin + share : blob.size();
    const cleave::RangeBlob range(blob, begin, end);
    const auto own = cleave::summarise_range(range, begin, cleave::Dialect{}, cleave::Execution{});
    const auto before = compose_before(own, rank);
    const cleave::RangeRow& entered = before.row(cleave::RangeState::kStart);
    const cleave::RangeRow& row = own.row(entered.exit);

    // The last process has the summary of the whole file.
    std::uint64_t header = blob.size();
    if (rank + 1 == count) {
        cleave::Policy policy;
        policy.pieces = 1;
        const auto whole = cleave::compose(before, own);
        const auto plan = cleave::plan_ranges(std::span(&whole, 1), blob.size(), policy);
        if (plan.findings.open_quote) throw cleave::OpenQuoteError(*plan.findings.open_quote);
        header = plan.header_size;
    }
    MPI_Bcast(&header, 1, MPI_UINT64_T, count - 1, MPI_COMM_WORLD);

    std::vector<std::uint64_t> firsts(static_cast<std::size_t>(count));
    const std::uint64_t first = rank == 0 ? 0 : row.first;
    MPI_Allgather(&first, 1, MPI_UINT64_T, firsts.data(), 1, MPI_UINT64_T, MPI_COMM_WORLD);
    // If no record starts in a range, its piece is empty.
    std::uint64_t next = blob.size();
    for (int later = count - 1; later > rank; --later) next = std::min(next, firsts[static_cast<std::size_t>(later)]);
    const std::uint64_t from = std::max(std::min(first, next), header);
    const std::uint64_t to = std::max(next, header);

    std::ofstream out(prefix + '.' + std::to_string(rank) + ".csv", std::ios::binary);
    write_range(out, blob, 0, header);
    write_range(out, blob, from, to);
    input.throw_if_changed();
    if (!out.flush()) throw std::runtime_error("cannot write a piece");
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0;
    int count = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &count);
    try {
        if (argc != 3) throw std::invalid_argument("usage: example_mpi_cut FILE PREFIX");
        const cleave::MappingGuard guard;
        cut(argv[1], argv[2], rank, count);
    } catch (const std::exception& error) {
        std::cerr << "process " << rank << ": " << error.what() << '\n';
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
}
