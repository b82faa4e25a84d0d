#include "cli/formats.h"

#include <string_view>
#include <utility>

namespace cleave::cli {
namespace {

// Prints the five numbers of a piece with a separator between them.
class Separated : public OffsetsWriter {
public:
    Separated(StandardOutput& out, char separator) : OffsetsWriter(out), separator_(separator) {}

    void piece(const Piece& piece) override {
        const std::uint64_t row[] = {piece.number, piece.start, piece.length, piece.first_record, piece.records};
        out().print_row(row, separator_);
    }
    void finish(const InputFacts&) override {}

private:
    char separator_;
};

class Csv : public Separated {
public:
    explicit Csv(StandardOutput& out) : Separated(out, ',') { out.print("piece,start,length,first_record,records\n"); }
};

class Jsonl : public OffsetsWriter {
public:
    using OffsetsWriter::OffsetsWriter;
    void piece(const Piece& piece) override { out().print("{}\n", piece_json(piece).text()); }
    void finish(const InputFacts&) override {}
};

// Uses the manifest's format, with the facts before the pieces. For a stream, the facts are not known until after the
// pieces.
class JsonPlan : public OffsetsWriter {
public:
    using OffsetsWriter::OffsetsWriter;

    void start(const InputFacts& facts) override {
        out().print("{}", PlanJson::start_text(facts));
        started_ = true;
    }
    void piece(const Piece& piece) override {
        if (started_) {
            out().print("{}{}", std::exchange(separator_, ","), piece_json(piece).text());
        } else {
            plan_.add(piece);
        }
    }
    void finish(const InputFacts& facts) override { out().print("{}", started_ ? PlanJson::kEnd : plan_.text(facts)); }

private:
    bool started_ = false;
    const char* separator_ = "";
    PlanJson plan_;  // holds what cannot be printed yet
};

// The boundaries of the pieces in little-endian order, one more than there are pieces.
class U64 : public OffsetsWriter {
public:
    using OffsetsWriter::OffsetsWriter;

    void piece(const Piece& piece) override { put(piece.start); }
    void finish(const InputFacts& facts) override { put(facts.size); }

private:
    // Writes the bytes as they are in memory, because kernels/kernel.h requires a little-endian machine.
    void put(const std::uint64_t& number) {
        out().print("{}", std::string_view(reinterpret_cast<const char*>(&number), sizeof number));
    }
};

// Values of a Range header. A Range header cannot express an empty range, so empty pieces are left out.
class Http : public OffsetsWriter {
public:
    using OffsetsWriter::OffsetsWriter;

    void piece(const Piece& piece) override {
        if (piece.length > 0) out().print("bytes={}-{}\n", piece.start, piece.start + piece.length - 1);
    }
    void finish(const InputFacts&) override {}
};

// --every: prints only where the pieces start.
class Starts : public OffsetsWriter {
public:
    using OffsetsWriter::OffsetsWriter;

    void piece(const Piece& piece) override {
        if (piece.records > 0) out().print_row({&piece.start, 1}, '\n');
    }
    void finish(const InputFacts&) override {}
};

}  // namespace

std::unique_ptr<OffsetsWriter> make_offsets_writer(Format format, StandardOutput& out) {
    switch (format) {
        case Format::kTsv: return std::make_unique<Separated>(out, '\t');
        case Format::kCsv: return std::make_unique<Csv>(out);
        case Format::kJsonl: return std::make_unique<Jsonl>(out);
        case Format::kJson: return std::make_unique<JsonPlan>(out);
        case Format::kU64: return std::make_unique<U64>(out);
        case Format::kHttp: return std::make_unique<Http>(out);
        case Format::kStarts: return std::make_unique<Starts>(out);
    }
    return nullptr;
}

}  // namespace cleave::cli
