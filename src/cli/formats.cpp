#include "cli/formats.h"

#include <array>
#include <optional>

namespace cleave::cli {
namespace {

using nlohmann::ordered_json;

ordered_json piece_json(const Piece& piece) {
    return {{"piece", piece.number},
            {"start", piece.start},
            {"length", piece.length},
            {"first_record", piece.first_record},
            {"records", piece.records}};
}

// A byte as a character: those above ASCII as Latin-1 has them.
ordered_json byte_json(std::optional<std::uint8_t> byte) {
    if (!byte) return nullptr;
    if (*byte < 0x80) return std::string(1, static_cast<char>(*byte));
    return std::string{static_cast<char>(0xC0 | *byte >> 6), static_cast<char>(0x80 | (*byte & 0x3F))};
}

// The five numbers of a piece with something between them.
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
    void piece(const Piece& piece) override { out().print("{}\n", dump_json(piece_json(piece))); }
    void finish(const InputFacts&) override {}
};

// The manifest's form.
class Json : public OffsetsWriter {
public:
    using OffsetsWriter::OffsetsWriter;

    void piece(const Piece& piece) override { pieces_.push_back(piece_json(piece)); }

    void finish(const InputFacts& facts) override {
        constexpr int kVersion = 1;
        const ordered_json json = {
            {"cleave", kVersion},
            {"input", {{"path", facts.path}, {"size", facts.size}, {"mtime_ns", facts.mtime_ns}}},
            {"dialect", dialect_json(facts.dialect)},
            {"header", {{"start", 0}, {"length", facts.header_size}}},
            {"pieces", std::move(pieces_)}};
        out().print("{}\n", dump_json(json));
    }

private:
    ordered_json pieces_ = ordered_json::array();
};

// Little-endian boundaries, one more than there are pieces.
class U64 : public OffsetsWriter {
public:
    using OffsetsWriter::OffsetsWriter;

    void piece(const Piece& piece) override { put(piece.start); }
    void finish(const InputFacts& facts) override { put(facts.size); }

private:
    void put(std::uint64_t number) {
        std::array<char, sizeof number> bytes;
        for (char& byte : bytes) {
            byte = static_cast<char>(number & 0xFF);
            number >>= 8;
        }
        out().print("{}", std::string_view(bytes.data(), bytes.size()));
    }
};

// Values of a Range header. A range of no bytes cannot be said there, so empty pieces are left out.
class Http : public OffsetsWriter {
public:
    using OffsetsWriter::OffsetsWriter;

    void piece(const Piece& piece) override {
        if (piece.length > 0) out().print("bytes={}-{}\n", piece.start, piece.start + piece.length - 1);
    }
    void finish(const InputFacts&) override {}
};

// --every: where the pieces start, and nothing else.
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
        case Format::kJson: return std::make_unique<Json>(out);
        case Format::kU64: return std::make_unique<U64>(out);
        case Format::kHttp: return std::make_unique<Http>(out);
        case Format::kStarts: return std::make_unique<Starts>(out);
    }
    return nullptr;
}

ordered_json dialect_json(const Dialect& dialect) {
    ordered_json json = {{"delimiter", byte_json(dialect.delimiter)},
                         {"quote", byte_json(dialect.quote)},
                         {"escape", byte_json(dialect.escape)}};
    if (dialect.escape) json["escape_scope"] = name_of(dialect.escape_scope);
    json["quoting"] = name_of(dialect.quoting);
    json["terminator"] = name_of(dialect.terminator);
    return json;
}

std::string dump_json(const ordered_json& json) {
    return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

const char* name_of(Quoting quoting) { return quoting == Quoting::kFieldStart ? "field-start" : "anywhere"; }

const char* name_of(Terminator terminator) {
    switch (terminator) {
        case Terminator::kLf: return "lf";
        case Terminator::kCr: return "cr";
        case Terminator::kAny: break;
    }
    return "any";
}

const char* name_of(EscapeScope scope) { return scope == EscapeScope::kEverywhere ? "everywhere" : "quoted"; }

}  // namespace cleave::cli
