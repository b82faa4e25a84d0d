// cleave join: reassembles a file from pieces, the reverse of split.
//
//   for each piece, in order
//       the first piece: print its header, preamble included; any other: check that it begins with the same bytes,
//           and skip them
//       print the rest; if a manifest is given, compare size and checksum
//       if more follows, the piece must end where a record ends, by the state machine
//
// With --rejects, each rejected record is put back at its byte, so that the output is the input.
//
// With -o the file appears only once it is complete. On standard output, what was printed before an error stays.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <string_view>

#include "base/crc32c.h"
#include "base/text_bytes.h"
#include "cleave/foreign.h"
#include "cli/diagnostics.h"
#include "cli/feature_parts.h"
#include "cli/formatted.h"
#include "cli/named.h"
#include "cli/verbs.h"
#include "core/offsets/input_head.h"
#include "core/reader/copy.h"
#include "core/reader/fd.h"
#include "core/reader/location.h"
#include "core/reader/temporary_file.h"
#include "core/scan/walker.h"
#include "core/writer/lone_file.h"
#include "core/writer/stream_path.h"
#include "engine/plan_json.h"

namespace cleave::cli {
namespace {

// Standard output, a stream, or a file that appears only once it is complete.
class JoinedOutput {
public:
    // Throws what LoneFile throws, and OutputError if the file is one of the pieces.
    JoinedOutput(const Arguments& arguments, const Input& first, const std::vector<ListedPiece>& pieces)
        : path_(arguments.output.names) {
        if (path_.empty()) return;
        if (!leads_to_stream(path_)) require_other_file(pieces);
        file_.emplace(path_, first, arguments.output.replace);
        file_->descriptor();
    }

    int descriptor() { return file_ ? file_->descriptor() : STDOUT_FILENO; }

    // Call before writing any bytes of a further piece. Ensures that only users who can read every piece may read the
    // file.
    void narrow(const Input& piece) {
        if (!file_ || file_->is_stream()) return;
        const mode_t mode = stat_of(descriptor(), path_).st_mode & kAllBits;
        const mode_t wanted = mode & piece.identity().permissions;
        if (wanted != mode && ::fchmod(descriptor(), wanted) != 0) throw_errno(path_);
    }

    std::string name() const { return path_.empty() ? "write error" : path_; }

    void commit() {
        if (!file_) return;
        file_->publish();
        file_->commit();
    }

private:
    static constexpr mode_t kAllBits = S_IRWXU | S_IRWXG | S_IRWXO;

    void require_other_file(const std::vector<ListedPiece>& pieces) const {
        const std::string folder(folder_of(path_));
        struct stat there;
        if (!folder.empty() && ::stat(folder.c_str(), &there) != 0 && errno == ENOENT)
            throw UsageError(
                formatted("the output directory '{}' does not exist", folder.substr(0, folder.size() - 1)));
        if (::stat(path_.c_str(), &there) != 0) return;
        for (const ListedPiece& piece : pieces) {
            struct stat status;
            const bool is_there = ::stat(piece.location.name().c_str(), &status) == 0;
            if (is_there && identity_of(status).is_same_file(identity_of(there)))
                throw OutputError(path_, "would overwrite a piece");
        }
    }

    std::string path_;
    std::optional<LoneFile> file_;
};

// Reads the bytes of a piece that have not been written yet.
class PieceReader {
public:
    PieceReader(Input& input, bool sums) : input_(input), sums_(sums) {}

    // Reads the first `size` bytes, which must exist. Call this first.
    void skip(std::size_t size) {
        if (sums_) sum_.add(input_.peek(size).first(size));
        skipped_ = size;
    }

    // Passes the remaining bytes to take(bytes), part by part.
    template <class Take>
    void for_rest(const Take& take) {
        const auto take_part = [&](std::span<const std::uint8_t> bytes) {
            if (bytes.empty()) return;
            if (sums_) sum_.add(bytes);
            size_ += bytes.size();
            last_ = bytes.back();
            take(bytes);
        };
        if (!input_.is_stream()) {
            const Blob& blob = input_.blob();
            for_each_part(blob, {skipped_, blob.size() - skipped_}, input_.cancellation(), take_part);
        } else {
            std::size_t left = skipped_;
            for (auto bytes = input_.read(); !bytes.empty(); bytes = input_.read()) {
                const std::size_t here = std::min(left, bytes.size());
                left -= here;
                take_part(bytes.subspan(here));
            }
        }
        input_.throw_if_changed();
    }

    std::uint64_t size() const { return skipped_ + size_; }
    std::optional<std::uint8_t> last() const { return last_; }
    std::uint32_t checksum() const { return sum_.value(); }

private:
    Input& input_;
    bool sums_;
    Crc32c sum_;
    std::size_t skipped_ = 0;
    std::uint64_t size_ = 0;  // of the bytes after the skipped ones
    std::optional<std::uint8_t> last_;
};

// A header as a reader sees it, and what surrounds it.
struct HeaderParts {
    explicit HeaderParts(std::span<const std::uint8_t> bytes) : has_mark(bom_size(bytes) > 0) {
        content = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
        content.remove_prefix(bom_size(bytes));
        const std::size_t size = content.find_last_not_of("\r\n") + 1;
        end = content.substr(size);
        content = content.substr(0, size);
    }

    const char* name_of_end() const {
        if (end.empty()) return "no line end";
        return end.ends_with("\r\n") ? "CRLF" : end.ends_with('\n') ? "LF" : "CR";
    }

    bool has_mark;
    std::string_view content;
    std::string_view end;
};

// How the header of a piece differs from the header of the first piece.
std::string header_difference(std::span<const std::uint8_t> header, std::span<const std::uint8_t> first) {
    const HeaderParts here(header);
    const HeaderParts there(first);
    if (here.content == there.content && here.has_mark != there.has_mark) {
        return here.has_mark ? "its header begins with a byte order mark, but the first piece's does not"
                             : "its header does not begin with a byte order mark, but the first piece's does";
    }
    if (here.content == there.content && here.end != there.end) {
        return formatted("its header ends with {}, but the first piece's ends with {}", here.name_of_end(),
                         there.name_of_end());
    }
    return "it does not begin with the header of the first piece; see --header";
}

// `cleave join data.*.csv*` also matches indexes.
void refuse_own_file(Input& input) {
    const auto format = foreign_format(input.peek(kSniffSize));
    if (format && format->command.empty()) throw InputError(formatted("{}, not a piece", format->name));
}

class Join {
public:
    Join(Context& context, const Cancellation& cancellation) : context_(context), cancellation_(cancellation) {}

    void run() {
        const std::vector<ListedPiece>& pieces = context_.arguments.pieces.pieces;
        if (pieces.empty()) return;
        const PieceOpener opener(context_.arguments.pieces);
        for (const ListedPiece& piece : pieces) {  // check all of them before printing anything
            context_.location = piece.location;
            require(opener, piece);
        }
        // Stays open until the end: the output gets its permissions, narrowed to what the other pieces also permit.
        context_.location = pieces.front().location;
        Input first = open(opener, pieces.front());
        if (!context_.arguments.rejected.empty()) {
            if (context_.arguments.pieces.has_several_inputs)
                throw ArgumentError("join: the rejects are of several inputs; cleave cat --rejected prints them");
            if (context_.arguments.pieces.header == HeaderMode::kDrop)
                throw ArgumentError(
                    "join: the pieces have no header, so the rejects have no place among their records");
            rejects_ = open_rejected(context_);
            reject_ = rejects_();
        }
        output_.emplace(context_.arguments, first, pieces);
        append(first, pieces.front());
        for (const ListedPiece& piece : std::span(pieces).subspan(1)) {
            context_.location = piece.location;
            Input input = open(opener, piece);
            output_->narrow(input);
            append(input, piece);
        }
        if (walker_ && walker_->open_quote()) {  // the original input may end like this too
            context_.location = last_;
            Diagnostics(context_).warn(fault_);
        }
        if (rejects_) {
            context_.location = context_.arguments.rejected;
            put_back_last();
        }
        output_->commit();
    }

private:
    static constexpr const char* kOtherRejects = "it is not the file that the manifest lists";

    // Throws unless there is such a piece.
    void require(const PieceOpener& opener, const ListedPiece& piece) const {
        if (const Store* const store = store_of(context_, piece.location)) {
            find_object(*store, piece.location.name(), &cancellation_);
        } else {
            opener.require(piece);
        }
    }

    Input open(const PieceOpener& opener, const ListedPiece& piece) const {
        return piece.location.is_url() ? open_named(context_, piece.location, &cancellation_)
                                       : opener.open(piece, &cancellation_);
    }

    void append(Input& input, const ListedPiece& piece) {
        try {
            append_opened(input, piece);
        } catch (const std::exception&) {
            input.rethrow();
        }
    }

    void append_opened(Input& input, const ListedPiece& piece) {
        refuse_own_file(input);
        PieceReader reader(input, piece.crc32c.string() != nullptr);
        const bool is_empty = input.peek(1).empty();
        if (!walker_ && !is_empty) {
            dialect_ = settle_dialect(context_.arguments.dialect, input).dialect;
            walker_.emplace(dialect_, default_kernel(), lead_of(input.peek(kSniffSize), dialect_));
            mode_ = header_mode(context_.arguments.pieces.header, dialect_);
        }
        const bool begins_alike = mode_ == HeaderMode::kRepeat || mode_ == HeaderMode::kNone;
        if (begins_alike && !is_empty) take_header(input, reader);
        const std::uint64_t begin = walker_ ? walker_->offset() - reader.size() : 0;
        reader.for_rest([&](std::span<const std::uint8_t> bytes) {
            if (!fault_.empty()) {
                context_.location = last_;
                throw InputError(fault_ + ", and more follows");
            }
            walker_->pass(bytes);
            write(bytes);
        });
        compare(piece, reader);
        if (walker_ && reader.last()) {
            fault_ = fault_at_end(begin);
            last_ = context_.location;
        }
    }

    // Writes bytes of a piece, with the rejects that belong between them.
    void write(std::span<const std::uint8_t> bytes) {
        put_back(bytes.size(), [&](std::uint64_t size) {
            write_out(bytes.first(size));
            bytes = bytes.subspan(size);
        });
        write_out(bytes);
    }

    // Puts back the rejects that belong within the next `size` bytes. pass(n) writes n of these.
    template <class Pass>
    void put_back(std::uint64_t size, const Pass& pass) {
        while (reject_ && reject_->byte < written_ + size) {
            if (reject_->byte < written_) throw InputError(kOtherRejects);
            const std::uint64_t before = reject_->byte - written_;
            pass(before);
            size -= before;
            put_back_one();
        }
    }

    void put_back_one() {
        rejects_crc32c_ = reject_->crc32c;
        write_out(bytes_of(reject_->text));
        reject_ = rejects_();
    }

    // Puts back those behind the last piece.
    void put_back_last() {
        while (reject_ && reject_->byte == written_) put_back_one();
        const Json& sum = context_.arguments.pieces.rejects_crc32c;
        if (reject_ || sum != Json(formatted("{:08x}", rejects_crc32c_))) throw InputError(kOtherRejects);
    }

    void write_out(std::span<const std::uint8_t> bytes) {
        write_all(output_->descriptor(), bytes, output_->name(), &cancellation_);
        written_ += bytes.size();
    }

    // The bytes that each piece begins with: the preamble and the header, or the preamble alone.
    std::span<const std::uint8_t> header_of(Input& input) const {
        const PieceList& pieces = context_.arguments.pieces;
        std::uint64_t size = dialect_.preamble;
        if (pieces.header_size) {
            size = *pieces.header_size;
        } else if (mode_ == HeaderMode::kRepeat) {
            size = read_head(input, dialect_, mode_, kMaxRecordLimit).size;
        }
        const auto head = input.peek(static_cast<std::size_t>(size));
        if (head.size() < size) throw InputError("it is shorter than its header is according to the manifest");
        return head;
    }

    // Compares the header of a piece with the first piece's, and skips it. The first piece's goes into the output.
    void take_header(Input& input, PieceReader& reader) {
        if (!header_) {
            const auto header = header_of(input);
            header_.emplace(header.begin(), header.end());
            return;
        }
        if (!std::ranges::equal(input.peek(header_->size()), *header_)) {
            if (mode_ == HeaderMode::kNone) throw InputError("it does not begin with the preamble of the first piece");
            if (dialect_.preamble > 0)
                throw InputError("it does not begin with the preamble and header of the first piece; see --header");
            const auto size = read_head(input, dialect_, mode_, kMaxRecordLimit).size;
            throw InputError(header_difference(input.peek(static_cast<std::size_t>(size)), *header_));
        }
        reader.skip(header_->size());
    }

    // What is wrong at the end of the piece that begins at byte `begin` of the output; "" if a record ends there.
    std::string fault_at_end(std::uint64_t begin) const {
        if (const auto quote = walker_->open_quote())
            return formatted("the quote opened at byte {} is never closed", quote->offset - begin);
        const State state = walker_->state();
        const bool is_end =
            dialect_.terminator == Terminator::kAny ? is_past_record(state) : state == State::kRecordStart;
        return is_end ? "" : "it does not end where a record ends";
    }

    static void compare(const ListedPiece& piece, const PieceReader& reader) {
        if (piece.size.number() && piece.size != Json(reader.size())) {
            throw InputError(formatted("it has {} bytes, but the manifest says {}", reader.size(), piece.size.text()));
        }
        if (piece.crc32c.string() != nullptr && *piece.crc32c.string() != formatted("{:08x}", reader.checksum())) {
            throw InputError("its checksum is not the one in the manifest");
        }
    }

    Context& context_;
    const Cancellation& cancellation_;
    std::optional<JoinedOutput> output_;
    Dialect dialect_;                      // set by the first non-empty piece, like mode_ and walker_
    HeaderMode mode_ = HeaderMode::kNone;  // of the pieces
    std::optional<Walker> walker_;         // over the bytes written so far
    std::optional<std::vector<std::uint8_t>> header_;
    RejectedRecords rejects_;               // what is put back; empty: nothing
    std::optional<RejectedRecord> reject_;  // the next one
    std::uint32_t rejects_crc32c_ = 0;      // of the file, as far as it was put back
    std::uint64_t written_ = 0;             // bytes
    std::string fault_;                     // a fault at the end of what was written, so nothing may follow
    Location last_;                         // of the last piece written
};

}  // namespace

void list_pieces(Context& context) {
    Arguments& arguments = context.arguments;
    if (!arguments.output.manifest.empty()) {
        const Location manifest(arguments.output.manifest);
        context.location = manifest;
        arguments.pieces = read_piece_list(manifest, read_named(context, manifest), arguments.inputs);
        arguments.inputs = {};
        for (const ListedPiece& piece : arguments.pieces.pieces) arguments.inputs.add(piece.location.name());
        if (const auto& dialect = arguments.pieces.dialect) {
            if (arguments.dialect == DialectOptions()) arguments.dialect = settled_options(*dialect);
            arguments.dialect.preamble.separator_line = SeparatorLine::kData;
            arguments.dialect.dialect.preamble = dialect->preamble;
        }
        return;
    }
    arguments.pieces.header = arguments.policy.header;
    if (arguments.policy.header == HeaderMode::kDrop) arguments.dialect.preamble.separator_line = SeparatorLine::kData;
    for (const Location& input : arguments.inputs.all()) arguments.pieces.pieces.push_back({input, {}, {}, {}});
}

void run_join(Context& context, const Cancellation& cancellation) { Join(context, cancellation).run(); }

}  // namespace cleave::cli
